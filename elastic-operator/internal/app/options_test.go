package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// complete parses flags, and a configuration file if one is given.
func complete(t *testing.T, file string, args ...string) (*Options, error) {
	t.Helper()
	o := NewOptions()
	if file != "" {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config="+path)
	}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.Flags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, o.Complete(set)
}

func TestFlagsOverrideTheFile(t *testing.T) {
	const file = "rendezvousImage: a:1\nmetrics: {bindAddress: \":1443\"}\n"
	o, err := complete(t, file)
	if err != nil || o.RendezvousImage != "a:1" || o.Metrics.Address != ":1443" || o.Leader.Name != "elastic-operator.holdfast.dev" {
		t.Errorf("%+v (%v)", o, err)
	}
	if o, err = complete(t, file, "--rendezvous-image=b:2", "--metrics-bind-address=0"); err != nil || o.RendezvousImage != "b:2" || o.Metrics.Address != "0" {
		t.Errorf("%+v (%v)", o, err)
	}
}

func TestInvalidConfigurationFilesAreRejected(t *testing.T) {
	for file, want := range map[string]string{
		"rendezvousImages: a": `unknown field "rendezvousImages"`,
		"a: b: c":             "--config",
	} {
		if _, err := complete(t, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestThereIsNoWebhooksFlag(t *testing.T) {
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	NewOptions().Flags(set)
	if set.Lookup("webhooks") != nil {
		t.Error("there is a --webhooks flag")
	}
}
