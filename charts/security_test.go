package charts

import (
	"strings"
	"testing"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, values := range settings {
		for pod, template := range mustParse(t, jobSetChart, values).podTemplates(t) {
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec))
			if !result.Allowed {
				t.Errorf("%s: %s: %s", name, pod, result.ForbiddenDetail())
			}
		}
	}
}

// What the standard does not ask for, and we do.
func TestContainersAreTight(t *testing.T) {
	for name, values := range settings {
		for pod, template := range mustParse(t, jobSetChart, values).podTemplates(t) {
			for _, c := range template.Spec.Containers {
				at := name + ": " + pod + "/" + c.Name
				if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
					t.Errorf("%s: its root file system can be written", at)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: its resources are not bounded: %+v", at, c.Resources)
				}
				if mayChange(c.Image) {
					t.Errorf("%s: image %s may change", at, c.Image)
				}
				if (c.ReadinessProbe == nil && c.StartupProbe == nil) || c.LivenessProbe == nil {
					t.Errorf("%s: it has no probes", at)
				}
			}
		}
	}
}

// mayChange: an image without a tag is the latest.
func mayChange(image string) bool {
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag == "" || tag == "latest"
}

// The password reaches the orchestrator as a file, which its arguments and environment do not show.
func TestThePasswordIsAFile(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["external valkey"])
	args := strings.Join(all.container(t, "orchestrator").Args, " ")
	for _, want := range []string{
		"--valkey-address=redis.data.svc:6380", "--valkey-username=holdfast", "--valkey-password-file=/etc/valkey-password/password",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("the orchestrator is not given %s: %s", want, args)
		}
	}
	if len(all.find("StatefulSet")) != 0 {
		t.Error("there is a store of the chart beside the external one")
	}
}
