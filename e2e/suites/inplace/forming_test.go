//go:build e2e

package inplace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Without Holdfast, the Job of a worker that cannot start fails at its backoffLimit, and the JobSet fails with it.
func TestAJobSetThatCannotStartFails(t *testing.T) {
	command := func(c *corev1.Container) { c.Command = []string{"/nosuch"} }
	setting := func(name string) func(*corev1.Container) {
		return func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "nonsense"}) }
	}
	for name, tc := range map[string]struct {
		example string
		change  func(*corev1.PodSpec)
		says    string
	}{
		"the supervisor does not find the command":    {"one-annotation.yaml", func(pod *corev1.PodSpec) { command(&pod.Containers[0]) }, "exited with code 127 (finding the worker's program"},
		"the supervisor refuses a setting":            {"one-annotation.yaml", func(pod *corev1.PodSpec) { setting("MAX_STOPS_PER_MINUTE")(&pod.Containers[0]) }, "exited with code 2 (cannot start"},
		"beside a sidecar the command does not exist": {"in-place-restart.yaml", func(pod *corev1.PodSpec) { command(&pod.Containers[0]) }, "exited with code 128"},
		"the sidecar refuses a setting":               {"in-place-restart.yaml", func(pod *corev1.PodSpec) { setting("LOG_LEVEL")(&pod.InitContainers[0]) }, "exited with code 2 (cannot start"},
	} {
		t.Run(name, func(t *testing.T) {
			g := startExample(t, tc.example, func(js *v1alpha2.JobSet) {
				js.Spec.FailurePolicy.MaxRestarts = 2
				tc.change(&js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
			})
			g.awaitFailed("it restarted in place 3 times, which exceeds maxRestarts of 2")
			g.awaitCharged(3)
			if note := g.awaitEvent("InPlaceRestartsOver").Note; !strings.Contains(note, tc.says) {
				t.Errorf("the event says %q, want a note that contains %q", note, tc.says)
			}
			if n := len(g.events("InPlaceWorkerFailed")); n == 0 {
				t.Error("no event reports a failure before the last one")
			}
		})
	}
}

func (g *group) awaitFailed(message string) {
	g.Helper()
	g.must(framework.Until(g.ctx, "the JobSet has failed", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(js.Status.Conditions, string(v1alpha2.JobSetFailed))
		if c == nil {
			return errors.New("it has not failed")
		}
		if c.Message != message {
			g.Fatalf("it failed with the message %q, want %q", c.Message, message)
		}
		return nil
	}))
}

// One of four workers has a wrong store address. An event names the worker, it gets a new pod, and in the end the
// JobSet fails.
func TestAWorkerThatNeverJoinsIsNamedAndTheJobSetFails(t *testing.T) {
	const nowhere = "10.87.0.1:1"
	g := startExample(t, "exec.yaml", func(js *v1alpha2.JobSet) {
		js.Annotations[v1alpha2.FormingTimeoutKey] = "30s"
		js.Spec.FailurePolicy.MaxRestarts = 0
		far := js.Spec.ReplicatedJobs[0].DeepCopy()
		far.Name = "far"
		job := &far.Template.Spec
		job.Parallelism, job.Completions = ptr.To[int32](1), ptr.To[int32](1)
		env := job.Template.Spec.Containers[0].Env
		for i := range env {
			if env[i].Name == "VALKEY_ADDRESS" {
				env[i].Value = nowhere
			}
		}
		js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, *far)
	})
	g.must(framework.Until(g.ctx, "the condition names the worker", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(js.Status.Conditions, "InPlaceInSync")
		if c == nil || !strings.Contains(c.Message, "1 of 5 workers have not joined: js-far-0-0: ") ||
			!strings.Contains(c.Message, "is running, but has not reached the store at "+nowhere) {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	}))
	g.awaitEvent("InPlaceWaitingForWorkers")
	g.awaitEvent("InPlacePodRecreated")
	g.awaitFailed("it restarted in place 1 times, which exceeds maxRestarts of 0")
	g.awaitEvent("InPlaceRestartsOver")
}
