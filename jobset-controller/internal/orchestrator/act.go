package orchestrator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/replacement"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// act executes the actions of a plan in parallel, and records their effects. An error from the store, or from a write
// to the owner, ends the reconcile; other errors do not.
func (x *run) act(ctx context.Context, actions []leader.Action) error {
	tried := make([]*leader.Done, len(actions))
	for i, a := range actions {
		tried[i] = &leader.Done{Action: a}
	}
	fatal := parallel.Do(ctx, tried, func(ctx context.Context, d *leader.Done) (err error) {
		if d.Result, err = x.execute(ctx, d.Action); err != nil {
			d.Result = moot
		}
		return err
	})
	store := false
	for _, d := range tried {
		x.o.Record(&x.state.memory, d.Action, d.Result)
		if d.Err != nil {
			x.errs = append(x.errs, d.Err)
		}
		switch d.Action.(type) {
		case leader.WriteGroup, leader.DropGroup, leader.Release:
			store = true
		}
	}
	if fatal != nil || !store {
		return fatal
	}
	return x.readGroup(ctx)
}

// execute executes one action. A fatal error ends the reconcile, and the action does not count as done.
func (x *run) execute(ctx context.Context, action leader.Action) (r leader.Result, fatal error) {
	uid := string(x.owner.GetUID())
	switch a := action.(type) {
	case leader.WriteGroup:
		if a.Replaces {
			if err := group.Drop(ctx, x.Store, uid, x.o.Token); err != nil {
				return moot, x.asked(err)
			}
		}
		written, err := x.Store.Set(ctx, uid, a.Before, a.State, a.Config, a.Finished, a.Line())
		return leader.Result{Moot: err != nil || !written}, x.asked(err)
	case leader.DropGroup:
		return r, x.asked(group.Drop(ctx, x.Store, uid, x.o.Token))
	case leader.Release:
		return x.release(ctx, a)
	case leader.Annotate:
		next, err := annotated(ctx, x.Client, x.owner, annotations(a))
		if err == nil {
			x.owner = next
			_, err = x.view()
		}
		return r, err
	case leader.SetConditions:
		return leader.Result{Err: writeConditions(ctx, x.Client, x.owner, a, x.Clock.Now())}, nil
	case leader.DeletePod:
		return x.deletePod(ctx, a), nil
	case leader.DeleteJob:
		return x.deleteJob(ctx, a), nil
	case leader.MoveJob:
		return x.moveJob(ctx, a), nil
	case leader.FailOwner:
		return x.failOwner(ctx, a), nil
	case leader.AnnotatePod:
		return x.annotatePod(ctx, a), nil
	case leader.CreatePod:
		return x.createPod(ctx, a), nil
	default:
		return r, fmt.Errorf("unknown action %T", action)
	}
}

var moot = leader.Result{Moot: true}

// result converts the error of an API call to a result. If the object is gone, has been replaced or has changed, the
// action is moot.
func result(err error, doing string, args ...any) leader.Result {
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return moot
	case err != nil:
		return leader.Result{Err: fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), err)}
	}
	return leader.Result{}
}

func (x *run) release(ctx context.Context, a leader.Release) (leader.Result, error) {
	level := x.o.Stored.State.Level
	if err := x.Store.Release(ctx, string(x.owner.GetUID()), x.o.Token, level, a.Unit, a.Slot, a.Cause(), a.Heir); err != nil {
		return moot, x.asked(err)
	}
	log.FromContext(ctx).Info("released a pod from its slot", "slot", a.Name, "pod", a.PodName, "uid", a.Pod, "heir", a.Heir.Pod)
	return leader.Result{}, nil
}

func (x *run) deletePod(ctx context.Context, a leader.DeletePod) leader.Result {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.owner.GetNamespace(), Name: a.Pod.Name, UID: types.UID(a.Pod.UID)}}
	options := []client.DeleteOption{client.Preconditions{UID: &pod.UID}}
	if a.Force() {
		options = append(options, client.GracePeriodSeconds(0))
	}
	return x.delete(ctx, pod, string(a.For), options...)
}

// deleteJob deletes a Job in the foreground. Its owner recreates it.
func (x *run) deleteJob(ctx context.Context, a leader.DeleteJob) leader.Result {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: x.owner.GetNamespace(), Name: a.Job.Name, UID: types.UID(a.Job.UID)}}
	return x.delete(ctx, job, string(a.For), client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &job.UID})
}

func (x *run) delete(ctx context.Context, obj client.Object, purpose string, opts ...client.DeleteOption) leader.Result {
	r := result(x.Client.Delete(ctx, obj, opts...), "deleting %s", obj.GetName())
	if r.OK() {
		log.FromContext(ctx).Info("deleted", "kind", fmt.Sprintf("%T", obj), "name", obj.GetName(), "uid", obj.GetUID(), "for", purpose)
	}
	return r
}

// createPod creates a pod to replace the pods that a slot has lost. If a pod with the same name exists, it was created
// for the same reason. If the API server rejects the pod, for example because of a quota, createPod leaves its creation
// to the Job controller.
func (x *run) createPod(ctx context.Context, a leader.CreatePod) leader.Result {
	reason := append([]string{strconv.FormatInt(a.Round.Generation, 10), strconv.FormatInt(a.Round.Round, 10)}, a.Lost...)
	pod := replacement.Pod(x.live[a.Job.Name], a.Index, reason...)
	if a.Waits {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha2.SlotKey, v1alpha2.SlotWaits)
		replacement.PreferOtherNodes(pod)
	}
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

// moveJob moves a suspended Job, and the pods that it will create, to a generation. It does not change a Job that has
// since been resumed.
func (x *run) moveJob(ctx context.Context, a leader.MoveJob) leader.Result {
	job := x.cached(a.Job.Name)
	moved := job.DeepCopy()
	metav1.SetMetaDataAnnotation(&moved.ObjectMeta, epoch.Annotation, epoch.FormatNumber(a.Epoch))
	metav1.SetMetaDataAnnotation(&moved.Spec.Template.ObjectMeta, epoch.Annotation, epoch.FormatNumber(a.Epoch))
	return result(patch(ctx, x.Client, job, moved), "moving Job %s to epoch %d", job.Name, a.Epoch)
}

func (x *run) failOwner(ctx context.Context, a leader.FailOwner) leader.Result {
	if _, is := x.owner.(*corev1.Pod); is {
		return x.endPods(ctx, a.Message)
	}
	live := x.Kind.New()
	if err := x.Live.Get(ctx, client.ObjectKeyFromObject(x.owner), live); err != nil {
		return leader.Result{Err: client.IgnoreNotFound(err)}
	}
	failed := owners.Copy(live)
	if live.GetUID() != x.owner.GetUID() || !fail(failed, a.Message, x.Clock.Now()) {
		return moot
	}
	if err := patchStatus(ctx, x.Client, live, failed); err != nil {
		return leader.Result{Err: fmt.Errorf("failing the %s: %w", x.Kind.GVK.Kind, err)}
	}
	return leader.Result{}
}

// fail sets the condition that makes an owner fail, and reports whether the owner was running. The Job controller
// handles a Job with the FailureTarget condition: it deletes the pods and then fails the Job. A JobSet gets the
// condition that its controller would set, and the controller then deletes the Jobs. Failing a Job of the JobSet
// instead would cause recreations until the controller's own budget is used up.
func fail(owner client.Object, message string, now time.Time) bool {
	switch o := owner.(type) {
	case *batchv1.Job:
		if isJobOver(o) {
			return false
		}
		o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{
			Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: v1alpha2.ReachedMaxRestartsReason, Message: message,
			LastTransitionTime: metav1.NewTime(now), LastProbeTime: metav1.NewTime(now),
		})
	case *v1alpha2.JobSet:
		if isOver(o) {
			return false
		}
		meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{
			Type: string(v1alpha2.JobSetFailed), Status: metav1.ConditionTrue, Reason: v1alpha2.ReachedMaxRestartsReason, Message: message,
		})
		o.Status.TerminalState = string(v1alpha2.JobSetFailed)
	}
	return true
}

// endPods deletes all pods of a group declared by its pods, so that the pods' owner recovers the group. Such a group
// cannot be marked as failed.
func (x *run) endPods(ctx context.Context, why string) leader.Result {
	err := parallel.Do(ctx, x.o.Pods, func(ctx context.Context, pod *workload.Pod) error {
		if !pod.Lives() {
			return nil
		}
		return x.deletePod(ctx, leader.DeletePod{Pod: pod, Slot: pod.Slot, Why: why, For: leader.ForEpoch}).Err
	})
	return leader.Result{Err: err}
}

// annotatePod records the assigned slot on the pod. The patch includes the UID. If the pod is gone, another pod gets
// the slot.
func (x *run) annotatePod(ctx context.Context, a leader.AnnotatePod) leader.Result {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.owner.GetNamespace(), Name: a.Pod.Name}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, a.Pod.UID, v1alpha2.SlotKey, a.Slot))
	return result(x.Client.Patch(ctx, pod, patch, client.FieldOwner(FieldManager)), "annotating pod %s with its slot %s", a.Pod.Name, a.Slot)
}

// annotations returns the annotations to write. An empty value removes the annotation.
func annotations(a leader.Annotate) map[string]string {
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
