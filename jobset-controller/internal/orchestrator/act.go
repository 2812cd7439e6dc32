package orchestrator

import (
	"context"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replacement"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// act executes the actions of a plan in parallel, and records what they change. An error of the store, or of a write to the owner,
// ends the reconcile; other errors do not.
func (x *run) act(ctx context.Context, actions []leader.Action) error {
	results := make([]leader.Result, len(actions))
	fatal := inParallel(len(actions), func(i int) (err error) {
		if results[i], err = x.execute(ctx, actions[i]); err != nil {
			results[i] = moot
		}
		return err
	})
	store := false
	for i, a := range actions {
		x.o.Record(&x.state.memory, a, results[i])
		if results[i].Err != nil {
			x.errs = append(x.errs, results[i].Err)
		}
		switch a.(type) {
		case leader.WriteGroup, leader.DropGroup, leader.Release:
			store = true
		}
	}
	if fatal != nil || !store {
		return fatal
	}
	return x.readGroup(ctx)
}

// execute executes one action. A fatal error ends the reconcile; nothing counts as done then.
func (x *run) execute(ctx context.Context, action leader.Action) (r leader.Result, fatal error) {
	uid := string(x.owner.GetUID())
	switch a := action.(type) {
	case leader.WriteGroup:
		if a.Replaces {
			if err := group.Drop(ctx, x.Store, uid, x.o.Token); err != nil {
				return moot, x.asked(err)
			}
		}
		written, err := group.Apply(ctx, x.Store, uid, a.Write)
		return leader.Result{Moot: err != nil || !written}, x.asked(err)
	case leader.DropGroup:
		return r, x.asked(group.Drop(ctx, x.Store, uid, x.o.Token))
	case leader.Release:
		return x.release(ctx, a)
	case leader.Annotate:
		return r, x.annotate(ctx, x.annotations(a))
	case leader.SetConditions:
		r.Err = writeConditions(ctx, x.Client, x.owner, a, x.Clock.Now())
	case leader.DeletePod:
		return x.deletePod(ctx, a), nil
	case leader.DeleteJob:
		return x.deleteJob(ctx, a), nil
	case leader.MoveJob:
		return x.moveJob(ctx, a), nil
	case leader.FailOwner:
		return x.failOwner(ctx, a), nil
	case leader.CreatePod:
		return x.createPod(ctx, a), nil
	default:
		return r, fmt.Errorf("unknown action %T", action)
	}
	return r, nil
}

var moot = leader.Result{Moot: true}

// release releases a pod from its slot.
func (x *run) release(ctx context.Context, a leader.Release) (leader.Result, error) {
	level := x.o.Stored.State.Level
	if err := x.Store.Release(ctx, string(x.owner.GetUID()), x.o.Token, level, a.Unit, a.Slot, a.For, a.Heir); err != nil {
		return moot, x.asked(err)
	}
	log.FromContext(ctx).Info("released a pod from its slot", "slot", a.Name, "pod", a.PodName, "uid", a.Pod, "heir", a.Heir.Pod)
	return leader.Result{}, nil
}

func (x *run) deletePod(ctx context.Context, a leader.DeletePod) leader.Result {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.owner.GetNamespace(), Name: a.Pod.Name, UID: types.UID(a.Pod.UID)}}
	only := client.Preconditions{UID: &pod.UID}
	if a.Exactly {
		only.ResourceVersion = &a.Pod.Version
	}
	options := []client.DeleteOption{only}
	if a.Force() {
		options = append(options, client.GracePeriodSeconds(0))
	}
	r := x.delete(ctx, pod, string(a.For), options...)
	if a.Exactly && apierrors.IsConflict(r.Err) {
		return moot // it is bound to a node by now: the Job controller decides which pod stays
	}
	return r
}

// deleteJob deletes a Job in the foreground. Its owner creates it again.
func (x *run) deleteJob(ctx context.Context, a leader.DeleteJob) leader.Result {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: x.owner.GetNamespace(), Name: a.Job.Name, UID: types.UID(a.Job.UID)}}
	return x.delete(ctx, job, string(a.For), client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &job.UID})
}

func (x *run) delete(ctx context.Context, obj client.Object, purpose string, opts ...client.DeleteOption) leader.Result {
	switch err := x.Client.Delete(ctx, obj, opts...); {
	case apierrors.IsNotFound(err):
		return moot
	case err != nil:
		return leader.Result{Err: fmt.Errorf("deleting %s: %w", obj.GetName(), err)}
	}
	log.FromContext(ctx).Info("deleted", "kind", fmt.Sprintf("%T", obj), "name", obj.GetName(), "uid", obj.GetUID(), "for", purpose)
	return leader.Result{}
}

// createPod creates a pod in place of lost ones. If a pod with the same name exists, it was created for the same reason. If the API
// server rejects the pod, as it does when a quota is used up, the pod is left to its Job.
func (x *run) createPod(ctx context.Context, a leader.CreatePod) leader.Result {
	reason := append([]string{strconv.FormatInt(a.Round.Generation, 10), strconv.FormatInt(a.Round.Round, 10)}, a.Lost...)
	pod := replacement.Pod(x.live[a.Job.Name], a.Index, reason...)
	err := x.Client.Create(ctx, pod, client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		return moot
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		log.FromContext(ctx).Error(err, "creating a pod failed", "slot", a.Slot)
		return leader.Result{Refused: err.Error()}
	case err != nil:
		return leader.Result{Err: fmt.Errorf("creating a pod for %s: %w", a.Slot, err)}
	}
	log.FromContext(ctx).Info("created a pod for a slot", "slot", a.Slot, "pod", pod.Name, "uid", pod.UID, "lost", a.Lost)
	return leader.Result{Pod: podOf(pod)}
}

// annotations returns the values of annotations. An empty value removes the annotation.
func (x *run) annotations(a leader.Annotate) map[string]string {
	values := map[string]string{}
	if a.Epoch != nil {
		values[epoch.Annotation] = a.Epoch.Format()
	}
	if a.Charged != nil {
		values[v1alpha2.InPlaceRestartsKey] = strconv.Itoa(int(*a.Charged))
	}
	if a.Recovering != nil {
		values[recovering.Annotation] = a.Recovering.Format()
	} else if a.ClearRecovering {
		values[recovering.Annotation] = ""
	}
	if a.History != nil {
		values[history.Annotation] = *a.History
	}
	if a.Report != nil {
		values[roster.ReportAnnotation] = *a.Report
	}
	if a.LedBy != nil {
		values[v1alpha2.LedByKey] = *a.LedBy
	}
	return values
}

// annotate updates annotations of the owner, and continues with the updated owner.
func (x *run) annotate(ctx context.Context, values map[string]string) error {
	next, err := annotated(ctx, x.Client, x.owner, values)
	if err != nil {
		return err
	}
	x.owner = next
	_, err = x.view()
	return err
}

// report emits events, and increases counters.
func (x *run) report(events []leader.Event, counts []leader.Count) {
	for _, e := range events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		x.Recorder.Eventf(x.owner, nil, kind, e.Reason, "Restarting", "%s", short(e.Note))
	}
	x.Metrics.count(counts)
}
