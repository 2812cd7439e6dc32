package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fetchSoon is for the time before the first certificate, without which no webhook is served.
	fetchSoon = time.Second
	// fetchLater is when a renewed certificate is served at the latest. The API server trusts its authority at once.
	fetchLater = time.Minute
)

// fetchCertificate keeps the folder as the Secret is. The kubelet would bring a mounted Secret too, but takes up to two
// minutes for the first certificate, in which the API server refuses what the webhooks are to validate.
func (o *Options) fetchCertificate(mgr ctrl.Manager) everywhere {
	key := client.ObjectKey{Namespace: o.Certificates.Namespace, Name: o.Certificates.SecretName}
	log := mgr.GetLogger().WithName("certificates").WithValues("secret", key.String(), "folder", o.Webhook.CertDir)
	return func(ctx context.Context) error {
		for pause := fetchSoon; ; {
			var secret corev1.Secret
			err := mgr.GetAPIReader().Get(ctx, key, &secret)
			if err == nil {
				err = writeCertificate(o.Webhook.CertDir, secret.Data)
			}
			switch {
			case readOnly(err):
				log.Info("The folder cannot be written: whoever mounted it brings the certificate")
				return nil
			case err == nil:
				pause = fetchLater
			case !errors.Is(err, errNoCertificate) && ctx.Err() == nil:
				log.Error(err, "The certificate is not in its folder yet")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
		}
	}
}

// readOnly: the folder is a mounted Secret, as in the published installation.
func readOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

var errNoCertificate = errors.New("the Secret has no certificate yet")

// writeCertificate writes the certificate last, because it is what everybody waits for.
func writeCertificate(folder string, data map[string][]byte) error {
	if len(data[certificateFile]) == 0 || len(data[keyFile]) == 0 {
		return errNoCertificate
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of the certificate: %w", err)
	}
	for _, name := range []string{keyFile, certificateFile} {
		if err := replaceFile(filepath.Join(folder, name), data[name]); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
	}
	return nil
}

// replaceFile lets a reader see the old content or the new one, and leaves alone what is the same.
func replaceFile(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
