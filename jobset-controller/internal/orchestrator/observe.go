package orchestrator

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// observe reads what every plan needs. It returns false if the owner is ignored.
func (x *run) observe(ctx context.Context) (led bool, err error) {
	x.o.Began = x.Clock.Now()
	if x.Kind.Jobs {
		if err := x.listJobs(ctx); err != nil {
			return false, err
		}
	}
	known, err := x.view()
	if err != nil {
		log.FromContext(ctx).Error(err, "owner unreadable, its group stays as it is")
		return false, nil
	}
	x.o.Lost = x.Groups.drain(x.state)
	if !known {
		return true, nil
	}
	if x.o.Token, err = x.Tokens.Token(ctx); err != nil {
		return false, err
	}
	if err := x.listPods(ctx); err != nil {
		return false, err
	}
	if err := x.observeMissed(ctx); err != nil {
		x.errs = append(x.errs, err) // the next reconcile lists them again
	}
	if err := x.readGroup(ctx); err != nil {
		x.Groups.putBack(x.state, x.o.Lost)
		return false, err
	}
	return true, nil
}

func (x *run) listJobs(ctx context.Context) error {
	switch owner := x.owner.(type) {
	case *batchv1.Job:
		x.jobs = []batchv1.Job{inplace.ChildOf(owner)}
		return nil
	case *corev1.Pod:
		x.jobs = []batchv1.Job{inplace.ChildOf(inplace.OfPods(owner))}
		return nil
	}
	var list batchv1.JobList
	if err := x.Client.List(ctx, &list, client.InNamespace(x.owner.GetNamespace()),
		client.MatchingLabels{v1alpha2.JobSetNameKey: x.owner.GetName()}); err != nil {
		return fmt.Errorf("listing the Jobs: %w", err)
	}
	x.jobs = slices.DeleteFunc(list.Items, func(job batchv1.Job) bool { return !metav1.IsControlledBy(&job, x.owner) })
	return nil
}

// listPods lists the pods in the cache. A reconcile calls it once.
func (x *run) listPods(ctx context.Context) error {
	if !x.Kind.Jobs {
		return nil
	}
	var list corev1.PodList
	if err := x.Client.List(ctx, &list, client.InNamespace(x.owner.GetNamespace()),
		client.MatchingFields{PodsOfGroup: string(x.owner.GetUID())}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the pods: %w", err)
	}
	x.o.Pods = make([]*workload.Pod, 0, len(list.Items))
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Annotations[v1alpha2.RefusedKey] == "" {
			x.o.Pods = append(x.o.Pods, podOf(pod))
		}
	}
	x.datePods()
	return nil
}
