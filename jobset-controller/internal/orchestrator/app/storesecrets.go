package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

const (
	passwordKey = "password"
	caKey       = "ca.crt"
	// storeCertificateAge is ten years, because nothing renews the certificate.
	storeCertificateAge = 10 * 365 * 24 * time.Hour
	// copyEvery is the maximum delay until a changed Secret is used.
	copyEvery = time.Minute
)

// storeSecret is a Secret of the store. A chart cannot generate a random value that stays the same in each rendering,
// so it creates an empty Secret. The first orchestrator fills it, and the store's pod waits for that.
type storeSecret struct {
	name     types.NamespacedName
	key      string // key of the value used by this program
	file     string // file to which the value is copied
	generate func() (map[string][]byte, error)
}

// copySecrets fills the empty Secrets of the store, and keeps this program's files in sync with them.
func (o *Options) copySecrets(ctx context.Context, mgr manager.Manager) error {
	named := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: o.Leader.Namespace, Name: name}
	}
	for _, s := range []storeSecret{
		{named(o.ValkeyPasswordSecret), passwordKey, o.Store.PasswordFile, generatePassword},
		{named(o.ValkeyTLSSecret), caKey, o.Store.TLS.CA, func() (map[string][]byte, error) { return generateCertificate(o.Store.Address) }},
	} {
		if s.name.Name == "" {
			continue
		}
		if err := s.fill(ctx, mgr.GetAPIReader(), mgr.GetClient()); err != nil {
			return err
		}
		if err := s.copy(ctx, mgr.GetAPIReader()); err != nil {
			return err
		}
		if err := mgr.Add(bootstrap.Everywhere(func(ctx context.Context) error {
			wait.UntilWithContext(ctx, func(ctx context.Context) {
				if err := s.copy(ctx, mgr.GetAPIReader()); err != nil && ctx.Err() == nil {
					log.FromContext(ctx).Error(err, "copying a store Secret failed, retrying", "secret", s.name, "after", copyEvery)
				}
			}, copyEvery)
			return nil
		})); err != nil {
			return err
		}
	}
	return nil
}

// fill writes generated values to an empty Secret. If several replicas start at once, one of them succeeds. A Secret
// that already has data is left unchanged.
func (s storeSecret) fill(ctx context.Context, live client.Reader, writer client.Writer) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, s.name, secret); apierrors.IsNotFound(err) {
			return fmt.Errorf("no Secret %s for the store: create it empty, or with the key %s", s.name, s.key)
		} else if err != nil {
			return fmt.Errorf("reading a store Secret: %w", err)
		}
		if len(secret.Data) > 0 {
			return nil
		}
		var err error
		if secret.Data, err = s.generate(); err != nil {
			return err
		}
		if err := writer.Update(ctx, secret); err != nil {
			return fmt.Errorf("writing a store Secret: %w", err)
		}
		log.FromContext(ctx).Info("filled the empty store Secret", "secret", s.name)
		return nil
	})
}

// copy replaces the file if the value in the Secret differs.
func (s storeSecret) copy(ctx context.Context, live client.Reader) error {
	secret := &corev1.Secret{}
	if err := live.Get(ctx, s.name, secret); err != nil {
		return fmt.Errorf("reading a store Secret: %w", err)
	}
	value := secret.Data[s.key]
	if len(value) == 0 {
		return fmt.Errorf("the Secret %s has data, but no key %s", s.name, s.key)
	}
	if err := bootstrap.ReplaceFile(s.file, value); err != nil {
		return fmt.Errorf("copying a store Secret: %w", err)
	}
	return nil
}

// generatePassword returns a password with at least 128 bits of randomness, consisting of letters and digits.
func generatePassword() (map[string][]byte, error) {
	return map[string][]byte{passwordKey: []byte(rand.Text() + rand.Text())}, nil
}

// generateCertificate returns a certificate for a store at host:port, its key, and the CA that signed it.
func generateCertificate(address string) (map[string][]byte, error) {
	names := hostNames(address)
	chain, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{
		Host: names[0], AlternateDNS: names[1:], MaxAge: storeCertificateAge,
	})
	if err != nil {
		return nil, fmt.Errorf("generating the store's certificate: %w", err)
	}
	ca := chain[bytes.LastIndex(chain, []byte("-----BEGIN CERTIFICATE-----")):] // the CA follows the server certificate
	return map[string][]byte{caKey: ca, corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key}, nil
}

// hostNames returns all DNS names of a Service, given an address like service.namespace.svc:port. For any other
// address, it returns only the host. The address must be valid.
func hostNames(address string) []string {
	host, _, _ := net.SplitHostPort(address)
	labels := strings.Split(host, ".")
	if len(labels) != 3 || labels[2] != "svc" {
		return []string{host}
	}
	return []string{host, labels[0], labels[0] + "." + labels[1], host + ".cluster.local"}
}
