package app

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/kueue/pkg/features"
)

func complete(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	o, set := NewOptions(), pflag.NewFlagSet("test", pflag.ContinueOnError)
	o.Flags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, o.Complete(set)
}

func TestDefaultsAreThoseOfKueue(t *testing.T) {
	before := features.Enabled(features.PartialAdmission)
	o, err := complete(t)
	if err != nil || !o.Integration.WaitForPodsReady || o.Integration.ManageWithoutQueue || o.Leader.Name != "elastic-kueue.holdfast.dev" {
		t.Errorf("%+v (%v)", o, err)
	}
	for namespace, managed := range map[string]bool{"kube-system": false, "kueue-system": false, "team-a": true} {
		if got := o.Integration.Namespaces.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}); got != managed {
			t.Errorf("jobs without a queue in %s are managed: %t", namespace, got)
		}
	}
	if features.Enabled(features.PartialAdmission) != before {
		t.Error("a feature gate that was not set has changed")
	}
}

// Kueue's library reads its feature gates from the process. The gates set for Kueue's manager have no effect here unless they are passed
// on.
func TestKueueFeatureGatesAreSet(t *testing.T) {
	t.Cleanup(func() {
		if err := utilfeature.DefaultMutableFeatureGate.Set("PartialAdmission=true,TopologyAwareScheduling=true"); err != nil {
			t.Error(err)
		}
	})
	if !features.Enabled(features.PartialAdmission) || !features.Enabled(features.TopologyAwareScheduling) {
		t.Fatal("the feature gates are off by default")
	}
	if _, err := complete(t, "--kueue-feature-gates=PartialAdmission=false,TopologyAwareScheduling=false"); err != nil {
		t.Fatal(err)
	}
	if features.Enabled(features.PartialAdmission) || features.Enabled(features.TopologyAwareScheduling) {
		t.Error("the feature gates are still on")
	}
}

func TestInvalidFlagsAreRejected(t *testing.T) {
	for args, want := range map[string]string{
		"--kueue-feature-gates=NoSuchGate=true":           "--kueue-feature-gates: unrecognized feature gate: NoSuchGate",
		"--kueue-feature-gates=PartialAdmission=perhaps":  "--kueue-feature-gates: invalid value of PartialAdmission",
		"--kueue-feature-gates=PartialAdmission":          "--kueue-feature-gates: missing bool value for PartialAdmission",
		"--managed-jobs-namespace-selector=team in (a, b": "--managed-jobs-namespace-selector: ",
		"--config=kueue.yaml":                             "--config: elastic-kueue has no configuration file",
	} {
		if _, err := complete(t, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
