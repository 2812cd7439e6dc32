//go:build envtest

package appwrapper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// newReviewedWorld starts a controller that creates components only for reviewed AppWrappers.
func newReviewedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Stop()
	folder := t.TempDir()
	w.OK(os.WriteFile(filepath.Join(folder, "tls.key"), []byte("the key of the webhook"), 0o600))
	w.reviews = review.With(folder)
	w.start()
	return w
}

// stamped returns an AppWrapper that the webhook has checked.
func (w *world) stamped(aw *AppWrapper) *AppWrapper {
	w.Helper()
	w.OK(w.reviews.Stamp(aw.Namespace(w.Namespace).Obj(), time.Now()))
	return aw
}

func (w *world) hasNoJobs() {
	w.Helper()
	w.Always(func() string {
		var jobs batchv1.JobList
		w.OK(w.List(w.Context(), &jobs, client.InNamespace(w.Namespace)))
		if len(jobs.Items) > 0 {
			return "there is a Job"
		}
		return ""
	})
}

// If the webhook is off or excludes the namespace, the controller does not create objects that the user is not
// allowed to create.
func TestUnreviewedIsNotCreated(t *testing.T) {
	for name, annotation := range map[string]string{"without a stamp": "", "with a stamp from the user": "1767355200.0123abcd"} {
		t.Run(name, func(t *testing.T) {
			w := newReviewedWorld(t)
			aw := MakeAppWrapper("a").Job("j", 1)
			if annotation != "" {
				aw.Annotation(review.Annotation, annotation)
			}
			w.create(aw)
			w.awaitCondition("a", "AccessReviewed=False/NotReviewed")
			w.hasNoJobs()
			if m := w.message("a", "AccessReviewed"); !strings.Contains(m, "userRBACAdmissionCheck") || w.get("a").Status.Phase != v1beta2.Empty {
				t.Errorf("phase %s, message %s", w.get("a").Status.Phase, m)
			}
			w.AwaitEvent("Warning NotReviewed/Refusing: nothing is created")
			w.Stop()
			w.reviews = nil // an administrator turns the check off
			w.start()
			w.awaitPhase("a", v1beta2.Running)
			w.Eventually(func() string {
				return sandbox.Differs("condition", "AccessReviewed is absent", sandbox.ConditionOf(w.get("a").Status.Conditions, "AccessReviewed"))
			})
		})
	}
}

func TestReviewedIsCreated(t *testing.T) {
	w := newReviewedWorld(t)
	w.create(w.stamped(MakeAppWrapper("a").Job("j", 1)))
	aw := w.awaitPhase("a", v1beta2.Running)
	if r := aw.Status.Reviewed; r == nil || r.UID != aw.UID || r.Templates != review.Digest(aw) {
		t.Errorf("reviewed %+v", r)
	}
}

// With the webhook off, users can change templates after the check.
func TestChangedTemplateIsNotCreated(t *testing.T) {
	w := newReviewedWorld(t)
	change := func(aw *v1beta2.AppWrapper) { aw.Spec.Components = MakeAppWrapper("x").Job("k", 1).Spec.Components }
	w.create(w.stamped(MakeAppWrapper("a").Job("j", 1).Suspend(true)))
	w.awaitPhase("a", v1beta2.Suspended)
	w.change("a", change)
	w.suspend("a", false)
	w.awaitCondition("a", "AccessReviewed=False/NotReviewed")
	w.hasNoJobs()

	job := w.running(w.stamped(MakeAppWrapper("b").Job("j", 1)), "j", "p")
	w.change("b", change)
	w.finishJob(job, batchv1.JobFailed)
	w.sweep()
	w.awaitPhase("b", v1beta2.Failed)
	w.awaitCondition("b", "Unhealthy=True/CreateFailed")
}

// A workload started by an earlier build or by the upstream controller keeps running and can be reset and
// resumed.
func TestRunningWorkloadNeedsNoReview(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("running").Job("j", 1), "j", "p")
	w.create(MakeAppWrapper("queued").Job("k", 1).Suspend(true))
	w.awaitPhase("queued", v1beta2.Suspended)
	w.Stop()
	w.reviews = review.With(t.TempDir())
	w.start()
	w.suspend("queued", false)
	w.awaitPhase("queued", v1beta2.Running)
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("running").Status.Phase)) })
	w.finishJob(job, batchv1.JobFailed)
	w.sweep()
	w.awaitNewJob(job)
	if r := w.awaitPhase("running", v1beta2.Running).Status.Reviewed; r == nil || r.UID != w.get("running").UID {
		t.Errorf("the templates are not recorded as reviewed: %+v", r)
	}
}
