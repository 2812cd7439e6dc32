//go:build envtest

package jobset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func readExample(t *testing.T, path string) *wrappers.JobSet {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	js := &wrappers.JobSet{}
	if err := yaml.UnmarshalStrict(content, &js.JobSet); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return js
}

// The API server accepts each example, and its Jobs are created without a warning.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			w := newWorldThatAdds(t, agentsToAdd)
			w.create(readExample(t, file))
			w.Eventually(func() string {
				if len(w.jobs()) > 0 {
					return ""
				}
				return "no Jobs"
			})
			w.Always(func() string { return sandbox.Differs("events", "", withoutPlacement(w.Events())) })
		})
	}
}

// withoutPlacement returns the first warning. It ignores warnings that exclusive placement is not enforced, because the
// examples do not cause them.
func withoutPlacement(events []string) string {
	for _, event := range events {
		if strings.HasPrefix(event, "Warning ") && !strings.HasPrefix(event, "Warning "+placementNotEnforced) {
			return event
		}
	}
	return ""
}

func TestStagesExample(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	js := w.create(readExample(t, "../../../../examples/one-annotation-stages.yaml"))
	w.awaitJobs("one-annotation-stages-fetch-0@0")
	w.succeed("one-annotation-stages-fetch-0")
	w.awaitJobs("one-annotation-stages-driver-0@0", "one-annotation-stages-fetch-0@0")
	if got := w.withAgents(); got != "one-annotation-stages-driver-0" {
		t.Errorf("agents in %q", got)
	}
	w.ready("one-annotation-stages-driver-0")
	w.awaitJobs("one-annotation-stages-driver-0@0", "one-annotation-stages-fetch-0@0",
		"one-annotation-stages-workers-0@0", "one-annotation-stages-workers-1@0")
	want := []coordination.Stage{
		{Prefix: "one-annotation-stages-driver", Jobs: 1, Pods: 1, Release: coordination.ReleaseNeeded},
		{Prefix: "one-annotation-stages-workers", Jobs: 2, Pods: 4, Step: 1},
	}
	if diff := cmp.Diff(want, inplace.Stages(js, nil, w.carriers(js))); diff != "" {
		t.Error(diff)
	}
}

func (w *world) carriers(js *v1alpha2.JobSet) []bool {
	w.Helper()
	var current []*batchv1.Job
	for _, job := range w.jobs() {
		current = append(current, &job)
	}
	return inject.Carriers(js, inject.Assess(js), current)
}
