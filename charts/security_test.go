package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// mayChange reports whether the image's tag may be moved to another image. An image without a tag has the tag latest.
func mayChange(image string) bool {
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag == "" || tag == "latest"
}

// The orchestrator reads the password from a file, so that it is not exposed in arguments or the environment.
func TestPasswordIsReadFromFile(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["external valkey"])
	args := strings.Join(all.container(t, "orchestrator").Args, " ")
	for _, want := range []string{
		"--valkey-address=redis.data.svc:6380", "--valkey-username=holdfast", "--valkey-password-file=/etc/valkey-password/password",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("the orchestrator does not get %s: %s", want, args)
		}
	}
	if len(all.find("StatefulSet")) != 0 {
		t.Error("the chart renders a store in addition to the external one")
	}
}

// Every pod of every chart meets the restricted Pod Security Standard. The test uses the API server's library.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		for pod, template := range mustParse(t, chart, values).podTemplates(t) {
			if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !result.Allowed {
				t.Errorf("%s: %s", pod, result.ForbiddenDetail())
			}
		}
	})
}

// Pods also meet our additional requirements.
func TestContainersAreHardened(t *testing.T) {
	eachRendering(t, func(t *testing.T, chart, _, values string) {
		for pod, template := range mustParse(t, chart, values).podTemplates(t) {
			for _, c := range template.Spec.Containers {
				for _, problem := range loose(c) {
					t.Errorf("%s/%s: %s", pod, c.Name, problem)
				}
			}
		}
	})
}

// knowsItsMemory reports whether GOMEMLIMIT is set to the container's memory limit, or to a value from extraEnv. Otherwise, the
// heap may grow to twice the limit.
func knowsItsMemory(c corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		limit := e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
		return e.Name == "GOMEMLIMIT" && (limit || e.Value != "")
	})
}

func loose(c corev1.Container) []string {
	var found []string
	if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		found = append(found, "its root file system is writable")
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		found = append(found, fmt.Sprintf("its resources are not limited: %+v", c.Resources))
	}
	if isGo := c.Name != "valkey"; isGo && !knowsItsMemory(c) {
		found = append(found, "GOMEMLIMIT is not its memory limit")
	}
	if mayChange(c.Image) {
		found = append(found, "image "+c.Image+" may change")
	}
	if (c.ReadinessProbe == nil && c.StartupProbe == nil) || c.LivenessProbe == nil {
		found = append(found, "it has no probes")
	}
	return found
}
