package bootstrap

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// withStages returns options with feature gates at every stage.
func withStages(t *testing.T, file string, args ...string) (*Options, error) {
	t.Helper()
	t.Setenv("POD_NAMESPACE", "")
	p := newProgram()
	p.Gates = map[string]Gate{
		"New": {PreRelease: Alpha}, "Newer": {PreRelease: Alpha}, "Old": {Default: true, PreRelease: Beta}, "Fixed": {LockToDefault: true},
	}
	if file != "" {
		args = append(args, "--config="+write(t, "apiVersion: test.holdfast.dev/v1\nkind: Configuration\n"+file))
	}
	return &p.Options, Parse(pflag.NewFlagSet("test", pflag.ContinueOnError), p, args)
}

func TestGates(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		args []string
		on   string
	}{
		"the defaults":                {on: "Old"},
		"set in the file":             {file: "featureGates: {New: true, Old: false}", on: "New"},
		"set by the flag":             {args: []string{"--feature-gates=New=true,Old=false"}, on: "New"},
		"the flag is repeated":        {args: []string{"--feature-gates=New=true", "--feature-gates=Newer=true"}, on: "New Newer Old"},
		"the flag overrides the file": {file: "featureGates: {New: true, Newer: true}", args: []string{"--feature-gates=New=false"}, on: "Newer Old"},
		"all alpha gates":             {file: "featureGates: {AllAlpha: true}", on: "New Newer Old"},
		"all but one":                 {file: "featureGates: {AllAlpha: true, New: false}", on: "Newer Old"},
		"all beta gates":              {args: []string{"--feature-gates=AllBeta=false"}, on: ""},
		"a single dash and spaces":    {args: []string{"-feature-gates", "New=true, Newer=true"}, on: "New Newer Old"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := withStages(t, tc.file, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			var on []string
			for _, gate := range []string{"Fixed", "New", "Newer", "Old"} {
				if o.Enabled(gate) {
					on = append(on, gate)
				}
			}
			if got := strings.Join(on, " "); got != tc.on {
				t.Errorf("enabled gates: %q, want %q", got, tc.on)
			}
		})
	}
}

func TestInvalidGates(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"unknown":       {"--feature-gates=Nope=true", "--feature-gates (featureGates): unrecognized feature gate: Nope"},
		"locked":        {"--feature-gates=Fixed=true", "cannot set feature gate Fixed to true, feature is locked to false"},
		"no value":      {"--feature-gates=New", "malformed pair, expect string=bool"},
		"a wrong value": {"--feature-gates=New=on", "invalid value of New: on"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := withStages(t, "", tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Configuration files for upstream controllers contain empty fields.
func TestEmptyValuesInTheFileAreIgnored(t *testing.T) {
	p, err := complete(t, `
webhook: {host: "", certDir: ""}
leaderElection: {leaderElect: false, leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s, resourceLock: "", resourceName: "", resourceNamespace: ""}
metrics: {bindAddress: ""}
health: {healthProbeBindAddress: "", readinessEndpointName: "", livenessEndpointName: ""}
tls: {minVersion: ""}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := newProgram()
	if p.Webhook != want.Webhook || p.Leader != want.Leader || p.Metrics != want.Metrics || p.Health != want.Health {
		t.Errorf("got %+v", p.Options)
	}
}
