package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
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

// published is a file from the upstream operator's ConfigMap, with keys from earlier versions.
const published = `
appwrapper:
  autopilot:
    monitorNodes: false
    preferNoScheduleWeight: null
    resourceTaints:
      nvidia.com/gpu:
      - {key: autopilot.ibm.com/gpuhealth, value: WARN, effect: PreferNoSchedule}
      rdma/roce: [{key: nic, value: BAD, effect: NoExecute}]
  faultTolerance:
    retryLimit: 7
    resetPause: 30000000000
    deletionGracePeriod: 5m
    successTTLCeiling: 86400000000000
  userRBACAdmissionCheck: false
  schedulerName: ours
  defaultQueueName: default-queue
  slackQueueName: slack
  enableKueueIntegrations: true
certManagement:
  namespace: operators
webhooksEnabled: true
leaderElection: {leaderElect: true}
metrics: {bindAddress: ":1443"}
`

func TestReadPublishedConfig(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	o, err := complete(t, published)
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Default()
	want.Autopilot.MonitorNodes, want.Autopilot.PreferNoScheduleWeight = false, nil
	want.Autopilot.ResourceTaints = map[string][]corev1.Taint{
		"nvidia.com/gpu": {{Key: "autopilot.ibm.com/gpuhealth", Value: "WARN", Effect: corev1.TaintEffectPreferNoSchedule}},
		"rdma/roce":      {{Key: "nic", Value: "BAD", Effect: corev1.TaintEffectNoExecute}},
	}
	f := &want.FaultTolerance
	f.RetryLimit, f.RetryPausePeriod.Duration, f.ForcefulDeletionGracePeriod.Duration, f.SuccessTTL.Duration = 7, 30*time.Second, 5*time.Minute, 24*time.Hour
	want.UserRBACAdmissionCheck, want.SchedulerName, want.DefaultQueueName = false, "ours", "default-queue"
	if diff := cmp.Diff(want, o.AppWrapper); diff != "" {
		t.Error(diff)
	}
	var ignored []string
	for _, warning := range o.Warnings {
		ignored = append(ignored, warning.Error())
	}
	all := strings.Join(ignored, " ")
	for _, key := range []string{"slackQueueName", "enableKueueIntegrations", "certManagement", "webhooksEnabled"} {
		if !strings.Contains(all, key) {
			t.Errorf("no warning about %s in %s", key, all)
		}
	}
}

func TestDefaultsWithoutConfig(t *testing.T) {
	o, err := complete(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Default(), o.AppWrapper); diff != "" {
		t.Error(diff)
	}
	if o.Leader.Name != "f134c674.codeflare.dev" || o.Certificates.ServiceName != "appwrapper-webhook-service" || o.Webhooks {
		t.Errorf("lease %s, service %s, webhooks %t", o.Leader.Name, o.Certificates.ServiceName, o.Webhooks)
	}
}

func TestFlagOverridesConfig(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	o, err := complete(t, published, "--metrics-bind-address=0", "--leader-elect=false")
	if err != nil || o.Metrics.Address != "0" || o.Leader.Elect {
		t.Errorf("metrics %s, leader %t (%v)", o.Metrics.Address, o.Leader.Elect, err)
	}
}

func TestInvalidConfig(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"an invalid duration":        {`appwrapper: {faultTolerance: {resetPause: soon}}`, `invalid duration "soon"`},
		"a conflict between periods": {`appwrapper: {faultTolerance: {admissionGracePeriod: 1h}}`, "appwrapper: faultTolerance.admissionGracePeriod: 1h0m0s exceeds"},
		"a signal without an effect": {`appwrapper: {nodeHealth: {signals: [{name: a, taint: {key: b}}]}}`, `nodeHealth.signals[0]: effect: must be Avoid, SoftAvoid or Evacuate, not ""`},
		"invalid YAML":               {`a: b: c`, "--config"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := complete(t, tc.file); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// The configuration file in the documentation can be read and has no unknown keys.
func TestDocumentedConfig(t *testing.T) {
	page, err := os.ReadFile("../../../docs/appwrapper.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\nappwrapper:")
	file, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatal("the documentation contains no configuration file")
	}
	o, err := complete(t, "appwrapper:"+file)
	if err != nil || len(o.Warnings) > 0 {
		t.Errorf("%v, warnings %v", err, o.Warnings)
	}
	if n := len(o.AppWrapper.NodeHealth.Signals); n < 3 {
		t.Errorf("%d signals", n)
	}
}
