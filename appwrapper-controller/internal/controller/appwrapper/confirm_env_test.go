//go:build envtest

package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// blind is a synced cache that returns no Jobs.
type blind struct {
	cache.Cache
	looks atomic.Int32
}

func (b *blind) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "Job" {
		b.looks.Add(1)
		return apierrors.NewNotFound(schema.GroupResource{Group: "batch", Resource: "jobs"}, key.Name)
	}
	return b.Cache.Get(ctx, key, o, options...)
}

// B-2: an object that is missing from the cache is read live before the workload fails because of it.
func TestB2AbsenceIsConfirmedLive(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.Stop()
	observedComponent := &blind{}
	w.wrap = func(c cache.Cache) cache.Cache { observedComponent.Cache = c; return observedComponent }
	w.start()
	// Until the cache has synced, the controller reads live. An event triggers another read.
	w.Eventually(func() string {
		if observedComponent.looks.Load() > 0 {
			return ""
		}
		changed := job.DeepCopy()
		changed.Annotations = map[string]string{"test.holdfast.dev/event": time.Now().String()}
		w.OK(w.Patch(w.Context(), changed, client.MergeFrom(job)))
		return "the controller has not read from the cache yet"
	})
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("a").Status.Phase)) })
	w.expire(job)
	w.awaitCondition("a", "Unhealthy=True/MissingComponent")
}

// B-10: a component that the controller is not allowed to read does not count as gone. The workload keeps its quota
// and does not fail.
func TestB10UnreadableComponentIsNotMissing(t *testing.T) {
	w := newWorld(t)
	w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.Stop()
	w.wrap = func(c cache.Cache) cache.Cache { return &blind{Cache: c} }
	w.FailOn(func(call string, _ client.Object) error {
		if call == "get Job" || call == "delete Job" {
			return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", errors.New("not you"))
		}
		return nil
	})
	w.start()
	w.Always(func() string { return sandbox.Differs("phase", "Running", string(w.get("a").Status.Phase)) })
	w.suspend("a", true)
	w.awaitPhase("a", v1beta2.Suspending)
	w.sweep()
	w.Eventually(func() string {
		if m := w.message("a", "DeletingResources"); !strings.Contains(m, "not allowed to") {
			return "the message is " + m
		}
		return ""
	})
	w.Always(func() string {
		return sandbox.Differs("quota", "QuotaReserved=True/Resuming", sandbox.ConditionOf(w.get("a").Status.Conditions, "QuotaReserved"))
	})
}

// B-12: the response to a creation is lost, in the first attempt or in a later one. Suspending still removes the
// object.
func TestB12LostCreateResponse(t *testing.T) {
	for name, attempts := range map[string]int{"the first": 1, "the second": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var creations atomic.Int32
			w.FailOn(func(call string, object client.Object) error {
				if call != "create Job" || int(creations.Add(1)) != attempts {
					return nil
				}
				w.OK(w.Create(context.Background(), object.DeepCopyObject().(client.Object))) // the request succeeds anyway
				w.suspend("a", true)
				return errors.New("time-out")
			})
			w.create(MakeAppWrapper("a").Job("j", 1))
			if attempts == 2 {
				w.awaitPhase("a", v1beta2.Running)
				w.finishJob(w.job("j"), batchv1.JobFailed)
			}
			w.Eventually(func() string { return sandbox.Differs("creations", fmt.Sprint(attempts), fmt.Sprint(creations.Load())) })
			w.awaitPhase("a", v1beta2.Suspended)
			if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "j"}, &batchv1.Job{}); !apierrors.IsNotFound(err) {
				t.Errorf("the Job was not deleted: %v", err)
			}
		})
	}
}

// B-12: the response to the first creation is lost, and later ones fail with a different error, which is written to
// the status before the suspension. Suspending still removes the object.
func TestB12LostCreateResponseAfterAnnouncement(t *testing.T) {
	timeout := errors.New("time-out")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "j", errors.New("not you"))
	for name, then := range map[string]error{"and lost again": timeout, "and then refused": forbidden} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var creations atomic.Int32
			w.FailOn(func(call string, object client.Object) error {
				switch {
				case call != "create Job":
					return nil
				case creations.Add(1) == 1:
					w.OK(w.Create(context.Background(), object.DeepCopyObject().(client.Object))) // the request succeeds anyway
					return timeout
				}
				return then
			})
			w.create(MakeAppWrapper("a").Job("j", 1))
			w.Eventually(func() string {
				entries := w.get("a").Status.ComponentStatus
				if len(entries) == 0 || creations.Load() < 2 {
					return "the creation was not tried twice"
				}
				c := meta.FindStatusCondition(entries[0].Conditions, string(v1beta2.ResourcesDeployed))
				if c == nil || !strings.Contains(c.Message, then.Error()) {
					return fmt.Sprintf("the second error is not in the status: %+v", c)
				}
				return ""
			})
			w.suspend("a", true)
			w.awaitPhase("a", v1beta2.Suspended)
			if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "j"}, &batchv1.Job{}); !apierrors.IsNotFound(err) {
				t.Errorf("the Job was not deleted: %v", err)
			}
		})
	}
}

// B-13: an object that is still being deleted is not adopted as the new one, even if it belongs to the same workload.
// The controller waits until it is gone.
func TestB13TerminatingObjectIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	const hold = "test.holdfast.dev/hold"
	var once sync.Once
	var old batchv1.Job
	w.FailOn(func(call string, object client.Object) error {
		if call == "create Job" {
			once.Do(func() { // an earlier object with the same owner is being deleted
				made := object.DeepCopyObject().(client.Object)
				made.SetFinalizers([]string{hold})
				w.OK(w.Create(context.Background(), made))
				w.OK(w.Get(context.Background(), client.ObjectKeyFromObject(made), &old))
				w.OK(w.Delete(context.Background(), &old, client.PropagationPolicy(metav1.DeletePropagationBackground)))
			})
		}
		return nil
	})
	w.create(MakeAppWrapper("a").Job("j", 1))
	w.awaitPhase("a", v1beta2.Resuming)
	w.Always(func() string {
		if p := w.get("a").Status.Phase; p == v1beta2.Running || p == v1beta2.Failed {
			return "the phase is " + string(p)
		}
		return ""
	})
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(&old), &old))
	before := old.DeepCopy()
	old.Finalizers = nil
	w.OK(w.Patch(w.Context(), &old, client.MergeFrom(before)))
	w.awaitNewJob(before)
	w.awaitPhase("a", v1beta2.Running)
}

// B-22: before anything is created, the status has an entry for each component, in the order of the spec, with its pod
// sets.
func TestB22EachComponentHasAStatus(t *testing.T) {
	w := newWorld(t)
	w.create(MakeAppWrapper("a").Service("s").Job("j", 2).Pod("p").Suspend(true))
	entries := w.awaitPhase("a", v1beta2.Suspended).Status.ComponentStatus
	if len(entries) != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	for i, paths := range []string{"", "template.spec.template", "template"} {
		var got []string
		for _, set := range entries[i].PodSets {
			got = append(got, set.Path)
		}
		if strings.Join(got, " ") != paths {
			t.Errorf("entry %d has the pod sets %q, want %q", i, got, paths)
		}
	}
	w.suspend("a", false)
	w.awaitPhase("a", v1beta2.Running)
	for i, want := range []string{"Service s", "Job j", "Pod p"} {
		cs := w.get("a").Status.ComponentStatus[i]
		if got := cs.Kind + " " + cs.Name; got != want {
			t.Errorf("entry %d is %s, want %s", i, got, want)
		}
		if got := sandbox.ConditionOf(cs.Conditions, "ResourcesDeployed"); got != "ResourcesDeployed=True/ComponentCreatedSuccessfully" {
			t.Errorf("%s: %s", want, got)
		}
	}
}
