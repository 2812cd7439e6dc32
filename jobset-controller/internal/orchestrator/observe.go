package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/beside"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/series"
)

// observe reads what every plan needs. It returns false if the reconcile must ignore the owner.
func (x *run) observe(ctx context.Context) (led bool, err error) {
	x.o.Began = x.Clock.Now()
	if x.Kind.Jobs {
		if err := x.listJobs(ctx); err != nil {
			return false, err
		}
	}
	known, err := x.view()
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot read the owner, leaving its group unchanged")
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

// view converts the owner and its Jobs to the types that a plan uses. known reports whether the store may have any data
// about it.
func (x *run) view() (known bool, err error) {
	var current []*batchv1.Job
	if js := jobSetOf(x.owner); js != nil {
		current = policy.CurrentJobs(js, x.jobs, epochOf(js))
	}
	if x.o.Owner, known, err = x.Kind.View(x.owner, current); err != nil {
		return false, err
	}
	isCurrent := make(map[*batchv1.Job]bool, len(current))
	for _, job := range current {
		isCurrent[job] = true
	}
	x.o.Jobs = make([]*workload.Job, len(x.jobs))
	for i := range x.jobs {
		x.o.Jobs[i] = jobOf(x.owner.GetName(), &x.jobs[i], isCurrent[&x.jobs[i]])
	}
	x.datePods()
	return known, nil
}

// datePods sets the generation of the pods of a Job without a JobSet. The pods themselves do not record it, because
// their template is the same in every generation.
func (x *run) datePods() {
	if !x.Kind.Alone {
		return
	}
	for _, pod := range x.o.Pods {
		pod.Generation = x.o.Owner.Epoch.OfPod(pod.Created)
	}
	for _, lost := range x.o.Lost {
		lost.Pod.Generation = x.o.Owner.Epoch.OfPod(lost.Pod.Created)
	}
}

func (x *run) listJobs(ctx context.Context) (err error) {
	if job := onlyJob(x.owner); job != nil {
		x.jobs = []batchv1.Job{inplace.ChildOf(job)}
		return nil
	}
	x.jobs, err = owners.Jobs(ctx, x.Client, x.owner)
	return err
}

func (x *run) cached(name string) *batchv1.Job {
	i := slices.IndexFunc(x.jobs, func(job batchv1.Job) bool { return job.Name == name })
	return &x.jobs[i]
}

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

// observeMissed finds pods of a group that have no agent or share an index. The cache contains only pods that the
// webhook has processed.
func (x *run) observeMissed(ctx context.Context) error {
	owner, is := x.owner.(*corev1.Pod)
	if !is || x.o.Owner.Served == nil {
		return nil
	}
	m, _, _ := inplace.MemberOf(owner)
	names := map[string]string{}
	for _, pod := range x.o.Pods {
		if !pod.Lives() {
			continue
		}
		if other, taken := names[pod.Slot]; taken {
			x.o.Conflict = fmt.Sprintf("pods %s and %s have the same index", other, pod.Name)
		}
		names[pod.Slot] = pod.Name
	}
	if len(names) == m.Size {
		x.state.missed = nil
	} else if now := x.Clock.Now(); now.Sub(x.state.missedListed) >= leader.MissedEvery {
		if err := x.listMissed(ctx); err != nil {
			return err
		}
		x.state.missedListed = now
	}
	x.o.Missed = x.state.missed
	return nil
}

func (x *run) listMissed(ctx context.Context) error {
	var list corev1.PodList
	if err := x.Live.List(ctx, &list, client.InNamespace(x.owner.GetNamespace()), client.MatchingLabels(inplace.GroupLabels(x.owner.(*corev1.Pod)))); err != nil {
		return fmt.Errorf("listing the pods of the group: %w", err)
	}
	x.state.missed = nil
	for i := range list.Items {
		pod := &list.Items[i]
		why := beside.WithoutAgent(pod, x.o.Owner.Served.Installation)
		if why != "" && policy.Lives(pod) && pod.UID != x.owner.GetUID() {
			x.state.missed = append(x.state.missed, leader.Missed{Pod: podOf(pod), Why: why})
		}
	}
	return nil
}

func (x *run) readGroup(ctx context.Context) error {
	stored, err := x.Store.Read(ctx, string(x.owner.GetUID()))
	x.o.Stored, x.o.Foreign = stored, nil
	if errors.Is(err, coordination.ErrForeignValue) {
		x.o.Stored, x.o.Foreign, err = nil, err, nil
	}
	return x.asked(err)
}

// asked classifies a store error. It returns nil if the group does not exist or is unreadable, the error itself if this
// leader was replaced, and ErrStore if the store did not respond.
func (x *run) asked(err error) error {
	switch {
	case err == nil, errors.Is(err, coordination.ErrNoGroup), errors.Is(err, coordination.ErrForeignValue):
		x.outage.Store(false)
		return nil
	case errors.Is(err, coordination.ErrStaleLeader), errors.Is(err, coordination.ErrArgument):
		return err
	}
	return x.storeFailed(err)
}

func (r *Reconciler) storeFailed(err error) error {
	r.Metrics.Inc(series.StoreErrors)
	return fmt.Errorf("%w: %w", credentials.ErrStore, err)
}
