package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

func parse(args ...string) (*Options, error) {
	o := NewOptions()
	flags := pflag.NewFlagSet("orchestrator", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return o, o.Complete(flags)
}

func TestFlagsWithoutAFile(t *testing.T) {
	o, err := parse("--valkey-address=a:1", "--leader-election-namespace=ns", "--leader-election-lease-duration=5s")
	if err != nil {
		t.Fatal(err)
	}
	if !o.Leader.Elect || o.Leader.Name != "holdfast-orchestrator" || o.Leader.Lease != 5*time.Second || o.Metrics.Address != "0" || o.Health.Address != ":8082" {
		t.Errorf("got %+v", o)
	}
}

func TestFlagOverridesTheStoreOfTheFile(t *testing.T) {
	t.Setenv("VALKEY_ADDRESS", "env:1")
	path := filepath.Join(t.TempDir(), "config.yaml")
	content := "apiVersion: config.holdfast.dev/v1alpha1\nkind: OrchestratorConfiguration\n" +
		"valkey: {address: file:1, username: u, passwordFile: p}\nleaderElection: {resourceNamespace: ns}\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--leader-election-namespace=ns"}, "env:1"},
		{[]string{"--config=" + path}, "file:1"},
		{[]string{"--config=" + path, "--valkey-address=flag:1"}, "flag:1"},
	} {
		o, err := parse(tc.args...)
		if err != nil {
			t.Fatal(err)
		}
		if o.Store.Address != tc.want {
			t.Errorf("%q: address %q, want %q", tc.args, o.Store.Address, tc.want)
		}
	}
}

func TestAllErrorsAreReportedTogether(t *testing.T) {
	t.Setenv("VALKEY_ADDRESS", "")
	t.Setenv("POD_NAMESPACE", "")
	_, err := parse("--leader-election-lease-duration=1s", "--max-concurrent-reconciles=0")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, flag := range []string{"--valkey-address", "--leader-election-namespace", "--leader-election-lease-duration", "--max-concurrent-reconciles"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%q does not name %s", err, flag)
		}
	}
	if _, err := parse("--valkey-address=a", "--leader-election-namespace=ns", "--leader-elect=false"); err == nil ||
		!strings.Contains(err.Error(), `"a" is not host:port`) || !strings.Contains(err.Error(), "--leader-elect ") {
		t.Errorf("got %v", err)
	}
}

func TestUsersAndTLSFromFlagsAndFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	content := "apiVersion: config.holdfast.dev/v1alpha1\nkind: OrchestratorConfiguration\nleaderElection: {resourceNamespace: ns}\n" +
		"valkey: {address: file:1, acl: true, tls: {caFile: ca, certFile: c, keyFile: k, serverName: name}}\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile := valkey.TLSFiles{CA: "ca", Cert: "c", Key: "k", ServerName: "name"}
	for name, tc := range map[string]struct {
		args []string
		acl  bool
		tls  valkey.TLSFiles
	}{
		"nothing":                 {[]string{"--valkey-address=a:1", "--leader-election-namespace=ns"}, false, valkey.TLSFiles{}},
		"the file":                {[]string{"--config=" + path}, true, fromFile},
		"flags override the file": {[]string{"--config=" + path, "--valkey-acl=false", "--valkey-tls-ca-file=other"}, false, valkey.TLSFiles{CA: "other", Cert: "c", Key: "k", ServerName: "name"}},
	} {
		o, err := parse(tc.args...)
		if err != nil {
			t.Fatal(err)
		}
		if o.ValkeyACL != tc.acl || o.Store.TLS != tc.tls {
			t.Errorf("%s: users %v, TLS %+v", name, o.ValkeyACL, o.Store.TLS)
		}
	}
	for name, args := range map[string][]string{
		"a key pair without a CA": {"--valkey-tls-cert-file=c", "--valkey-tls-key-file=k"},
		"half a key pair":         {"--valkey-tls-ca-file=ca", "--valkey-tls-key-file=k"},
		"no time for the overlap": {"--valkey-password-max-age=1m"},
		"a negative age":          {"--valkey-password-max-age=-1m"},
	} {
		_, err := parse(append(args, "--valkey-address=a:1", "--leader-election-namespace=ns")...)
		if err == nil || !strings.Contains(err.Error(), "--valkey-") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
