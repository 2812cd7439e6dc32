// Package review is how the controller knows that the webhook has checked an AppWrapper: the user who created it may create what is in it.
//
//	webhook, at the creation       stamps the templates with a MAC, if the user may create all that is in them
//	controller, at its first look  verifies the stamp, and writes the UID and a digest of the templates into the status
//	controller, before it creates  compares both with the status
//
// A user cannot forge a stamp: its key is derived from that of the webhook's certificate, which the replicas of the manager share. A copied
// stamp is good for the same templates in the same namespace only, while it is fresh. Only those with the right to appwrappers/status can
// write the status.
package review

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
)

// Annotation holds the stamp: when it was made, and the MAC.
const Annotation = "holdfast.dev/access-reviewed"

// fresh is how far the creation may be from the stamp, to either side: clocks differ.
const fresh = 5 * time.Minute

var (
	errNone  = errors.New("no webhook has checked it")
	errWrong = errors.New("its stamp is not by this webhook, or is for other templates")
)

// Reviews makes and verifies stamps.
type Reviews struct{ keyFile string }

// With uses the private key in the folder of the webhook's certificate.
func With(certificates string) *Reviews {
	return &Reviews{filepath.Join(certificates, "tls.key")}
}

// Stamp an AppWrapper that has been checked.
func (r *Reviews) Stamp(aw *v1beta2.AppWrapper, now time.Time) error {
	at := strconv.FormatInt(now.Unix(), 10)
	mac, err := r.mac(aw, at)
	if err != nil {
		return err
	}
	if aw.Annotations == nil {
		aw.Annotations = map[string]string{}
	}
	aw.Annotations[Annotation] = at + "." + mac
	return nil
}

// Verify that the AppWrapper was checked when it was created. The error says why it was not.
func (r *Reviews) Verify(aw *v1beta2.AppWrapper) error {
	at, given, found := strings.Cut(aw.Annotations[Annotation], ".")
	if !found {
		return errNone
	}
	mac, err := r.mac(aw, at)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !hmac.Equal([]byte(mac), []byte(given)) {
		return errWrong
	}
	if age := aw.CreationTimestamp.Sub(time.Unix(seconds, 0)).Abs(); age > fresh {
		return fmt.Errorf("its stamp is %s away from its creation", age)
	}
	return nil
}

func (r *Reviews) mac(aw *v1beta2.AppWrapper, at string) (string, error) {
	key, err := os.ReadFile(r.keyFile)
	if err != nil {
		return "", fmt.Errorf("reading the key of the webhook: %w", err)
	}
	derived := sha256.Sum256(append([]byte("holdfast appwrapper review\n"), key...))
	mac := hmac.New(sha256.New, derived[:])
	fmt.Fprintf(mac, "%s\n%s\n%s", aw.Namespace, at, Digest(aw))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// Digest of all templates. The API server may store their keys in another order, so that the order does not count.
func Digest(aw *v1beta2.AppWrapper) string {
	sum := sha256.New()
	for i := range aw.Spec.Components {
		content := aw.Spec.Components[i].Template.Raw
		if object, err := podset.Decode(&aw.Spec.Components[i]); err == nil {
			if sorted, err := object.MarshalJSON(); err == nil {
				content = sorted
			}
		}
		fmt.Fprintf(sum, "%d\n%s", len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
