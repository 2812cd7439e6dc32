// Package review lets the webhook prove to the controller that it checked an AppWrapper, that is, that the user who created the AppWrapper
// may create its components.
//
//	webhook, on creation                 signs the templates if the user may create all of them
//	controller, on the first reconcile   verifies the signature, and writes the UID and a digest of the templates to the status
//	controller, before creating          compares both with the status
//
// Users cannot forge a signature: its key is derived from the webhook certificate's private key, which all replicas of the manager share.
// A copied signature is valid only for the same templates in the same namespace, and only for a short time. Writing the status requires
// permission for appwrappers/status.
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
)

// Annotation holds the signature: its time and the MAC.
const Annotation = "holdfast.dev/access-reviewed"

// fresh is the maximum difference between the creation time and the signature time. It applies in both directions because of clock skew.
const fresh = 5 * time.Minute

type Reviews struct{ keyFile string }

// With returns Reviews that use the private key in the webhook certificate's directory.
func With(certificates string) *Reviews {
	return &Reviews{filepath.Join(certificates, "tls.key")}
}

// Stamp signs an AppWrapper that has been checked.
func (r *Reviews) Stamp(aw *v1beta2.AppWrapper, now time.Time) error {
	at := strconv.FormatInt(now.Unix(), 10)
	mac, err := r.mac(aw, at)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&aw.ObjectMeta, Annotation, at+"."+mac)
	return nil
}

// Verify checks that the AppWrapper was signed when it was created.
func (r *Reviews) Verify(aw *v1beta2.AppWrapper) error {
	at, given, found := strings.Cut(aw.Annotations[Annotation], ".")
	if !found {
		return errors.New("the webhook did not check it")
	}
	mac, err := r.mac(aw, at)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !hmac.Equal([]byte(mac), []byte(given)) {
		return errors.New("its signature is invalid, or is for other templates")
	}
	if age := aw.CreationTimestamp.Sub(time.Unix(seconds, 0)).Abs(); age > fresh {
		return fmt.Errorf("it was signed and created %s apart", age)
	}
	return nil
}

func (r *Reviews) mac(aw *v1beta2.AppWrapper, at string) (string, error) {
	key, err := os.ReadFile(r.keyFile)
	if err != nil {
		return "", fmt.Errorf("reading the webhook's private key: %w", err)
	}
	derived := sha256.Sum256(append([]byte("holdfast appwrapper review\n"), key...))
	mac := hmac.New(sha256.New, derived[:])
	fmt.Fprintf(mac, "%s\n%s\n%s", aw.Namespace, at, Digest(aw))
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// Digest returns a digest of all templates. It does not depend on the order of keys, which the API server may change.
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
