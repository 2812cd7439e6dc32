package valkey

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAddress(t *testing.T) {
	cases := map[string]struct {
		address string
		good    bool
	}{
		"a name and a port":       {"store.ns.svc:6379", true},
		"an IPv6 address":         {"[::1]:6379", true},
		"no port":                 {"store", false},
		"an empty port":           {"store:", false},
		"port 0":                  {"store:0", false},
		"a port that is too high": {"store:65536", false},
		"a URL":                   {"redis://store:6379", false},
		"no host":                 {":6379", false},
		"nothing":                 {"", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Address: tc.address})
			if (err == nil) != tc.good {
				t.Fatalf("error %v, want good=%v", err, tc.good)
			}
			if err == nil {
				_ = s.Close()
			} else if !strings.Contains(err.Error(), "host:port") {
				t.Errorf("error %q does not describe the valid form", err)
			}
		})
	}
}

func TestWrongPasswordIsReportedAndThePasswordIsReadAgain(t *testing.T) {
	server := newServer(t, "--requirepass", "right")
	server.admin.Options().Password = "right"
	file := filepath.Join(t.TempDir(), "password")
	writeFile(t, file, "wrong\n")
	store := server.store(t, func(o *Options) { o.PasswordFile = file })
	_, err := store.Tidy(t.Context())
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Fatalf("error %v, want WRONGPASS", err)
	}
	w := watchGroup(t, store, uid)
	if first := w.awaitCount(t, 1)[0]; !isLoss(first) || !strings.Contains(first.Err.Error(), "WRONGPASS") {
		t.Errorf("first observation %+v, want WRONGPASS", first)
	}
	writeFile(t, file, "right\n")
	if second := w.awaitCount(t, 2)[1]; !second.Read {
		t.Errorf("second observation %+v, want a read", second)
	}
	if _, err := store.Tidy(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestMissingPasswordFileIsReported(t *testing.T) {
	server := newServer(t)
	file := filepath.Join(t.TempDir(), "absent")
	store := server.store(t, func(o *Options) { o.PasswordFile = file; o.Timeout = time.Second })
	if _, err := store.Tidy(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v does not name %s", err, file)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
