package bootstrap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestCertificateIsCopiedFromTheSecret(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "k8s-webhook-server", "serving-certs")
	for _, data := range []map[string][]byte{
		nil, {}, {"tls.crt": []byte("c")}, {"tls.key": []byte("k")}, {"ca.crt": []byte("a"), "tls.crt": {}, "tls.key": {}},
	} {
		if err := writeCertificate(folder, data); !errors.Is(err, errNoCertificate) {
			t.Errorf("%v: %v", data, err)
		}
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a Secret without a certificate created the folder")
	}
	for _, content := range []string{"first", "renewed"} {
		data := map[string][]byte{"tls.crt": []byte(content + " c"), "tls.key": []byte(content + " k"), "ca.key": []byte("secret")}
		if err := writeCertificate(folder, data); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]string{"tls.crt": content + " c", "tls.key": content + " k"} {
			if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(got) != want {
				t.Errorf("%s is %q (%v), want %q", file, got, err, want)
			}
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v (%v), want the certificate and its key", entries, err)
	}
}

func TestUnchangedFileIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.crt")
	long := time.Now().Add(-time.Hour)
	if err := errors.Join(ReplaceFile(path, []byte("a")), os.Chtimes(path, long, long), ReplaceFile(path, []byte("a"))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < time.Minute {
		t.Errorf("the file was written again: %v %v", info, err)
	}
}

func TestMountedSecretIsNotWritten(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES} {
		if err := error(&fs.PathError{Op: "open", Path: "tls.key", Err: cause}); !readOnly(err) {
			t.Errorf("%v does not count as read-only", err)
		}
	}
	if readOnly(nil) || readOnly(syscall.ENOSPC) || readOnly(errNoCertificate) {
		t.Error("an unrelated error counts as read-only")
	}
}
