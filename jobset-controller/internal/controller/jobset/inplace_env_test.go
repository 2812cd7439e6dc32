//go:build envtest

package jobset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestJobSetFailsWhenInPlaceRestartsExceedItsBudget(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.annotate("a", v1alpha2.InPlaceRestartsKey, "1")
	w.Always(func() string { return sandbox.Differs("terminalState", "", w.jobSet("a").Status.TerminalState) })
	w.annotate("a", v1alpha2.InPlaceRestartsKey, "2")
	w.awaitCondition("a", "Failed=True/ReachedMaxRestarts")
	js := w.jobSet("a")
	const want = "it restarted in place 2 times, which exceeds maxRestarts of 1"
	if got := meta.FindStatusCondition(js.Status.Conditions, "Failed").Message; got != want || js.Status.TerminalState != "Failed" {
		t.Errorf("state %q, message %q", js.Status.TerminalState, got)
	}
	w.awaitJobs("a-workers-0@0-")
}

func TestInvalidAnnotationsAreReportedInOneEvent(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60").
		Annotation(v1alpha2.InPlaceRestartsKey, "many").Annotation(epoch.Annotation, "two"))
	w.awaitJobs("a-workers-0@0")
	w.ready("a-workers-0")
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-workers-0")
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	got := w.eventsWith(v1alpha2.InvalidSpecReason)
	if len(got) != 1 {
		t.Errorf("%q, want one event", got)
	}
	for _, value := range []string{`"60"`, `"many"`, `"two"`} {
		if !strings.Contains(strings.Join(got, ""), value) {
			t.Errorf("%q do not name %s", got, value)
		}
	}
	if got := w.jobSet("a").Annotations[epoch.Annotation]; got != "two" {
		t.Errorf("an epoch was opened for a JobSet without in-place restarts: %s", got)
	}

	w.annotate("a", v1alpha2.InPlaceTimeoutKey, "soon")
	w.Eventually(func() string {
		if c := meta.FindStatusCondition(w.jobSet("a").Status.Conditions, string(v1alpha2.JobSetAccepted)); c == nil || !strings.Contains(c.Message, `"soon"`) {
			return fmt.Sprintf("a new value is not reported: %v", c)
		}
		return ""
	})
}

func (w *world) eventsWith(reason string) []string {
	var found []string
	for _, e := range w.Events() {
		if strings.HasPrefix(e, "Warning "+reason+"/") {
			found = append(found, e)
		}
	}
	return found
}

// The test does what kubectl get -o yaml, kubectl delete and kubectl apply do when no webhook is installed.
func TestResubmittedJobSetStartsFromZero(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.suspend("a", true)
	w.awaitCondition("a", "Suspended=True/SuspendedJobs")
	w.annotate("a", v1alpha2.InPlaceRestartsKey, "1")
	read := w.jobSet("a")
	if got := read.Annotations[v1alpha2.WrittenForKey]; got != string(read.UID) {
		t.Errorf("the epoch was written for %q", got)
	}
	w.OK(w.Delete(t.Context(), read))
	w.OK(w.Delete(t.Context(), w.job("a-workers-0"), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	again := MakeJobSet("a").Workers(1).MaxRestarts(1).Namespace(w.Namespace).Obj()
	again.Annotations = read.Annotations
	again.Annotations[v1alpha2.InPlaceRestartsKey] = "2"
	w.OK(w.Create(t.Context(), again))
	w.awaitJobs("a-workers-0@0")
	w.awaitCondition("a", "Running=False/WaitingForJobs")
	now := w.jobSet("a")
	if diff := cmp.Diff(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}, now.Annotations); diff != "" || now.Status.TerminalState != "" {
		t.Errorf("%s %s", now.Status.TerminalState, diff)
	}
}
