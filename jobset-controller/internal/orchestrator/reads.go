package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/nodes"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

// read reads what a plan needs.
func (x *run) read(ctx context.Context, need leader.Need) error {
	if err := x.askStore(ctx, need); err != nil {
		return err
	}
	x.readObjects(ctx, need)
	if !need.Objects() {
		return nil
	}
	return x.readGroup(ctx)
}

func (x *run) askStore(ctx context.Context, need leader.Need) error {
	uid, reads := string(x.owner.GetUID()), &x.o.Reads
	if len(need.Missing) > 0 {
		if err := x.readMissing(ctx, need.Missing); err != nil {
			return err
		}
	}
	if len(need.Holders) > 0 {
		holders, err := x.Store.Holders(ctx, uid, x.o.Stored.State.Generation, need.Holders)
		if err != nil && !errors.Is(err, coordination.ErrForeignValue) { // a table that a member has forged is unusable
			return x.storeFailed(err)
		}
		for _, slot := range need.Holders {
			reads.SetHolder(slot, holders[slot])
		}
	}
	if err := x.readFinished(ctx, need.Finished); err != nil {
		return err
	}
	if need.History {
		lines, err := x.Store.History(ctx, uid)
		reads.HistoryForeign = errors.Is(err, coordination.ErrForeignValue)
		if err != nil && !reads.HistoryForeign {
			return x.storeFailed(err)
		}
		reads.History, reads.HistoryRead = lines, true
	}
	return nil
}

// readMissing reads which slots have not joined. If the store has just lost the group, the next plan is based on that.
func (x *run) readMissing(ctx context.Context, units []int) error {
	g := group.Summarize(x.o.Stored)
	if x.o.Reads.Missing == nil || x.o.Reads.MissingLevel != g.Level {
		x.o.Reads.Missing, x.o.Reads.MissingLevel = map[int][]string{}, g.Level
	}
	for _, u := range units {
		slots, err := g.MissingOf(ctx, x.Store, string(x.owner.GetUID()), u)
		switch {
		case errors.Is(err, coordination.ErrNoGroup), errors.Is(err, coordination.ErrForeignValue):
			x.o.Reads.Missing[u] = nil
			if err := x.readGroup(ctx); err != nil {
				return err
			}
		case err != nil:
			return x.storeFailed(err)
		}
		x.o.Reads.Missing[u] = slots
	}
	return nil
}

func (x *run) readFinished(ctx context.Context, slots []string) error {
	if len(slots) == 0 {
		return nil
	}
	if x.o.Reads.Finished == nil {
		x.o.Reads.Finished = map[string]bool{}
	}
	g := group.Summarize(x.o.Stored)
	for _, slot := range slots {
		unit, _ := g.UnitOf(slot)
		finished, err := x.Store.HaveFinished(ctx, string(x.owner.GetUID()), g.Level, unit, []string{slot})
		if err != nil {
			return x.storeFailed(err)
		}
		x.o.Reads.Finished[slot] = len(finished) > 0
	}
	return nil
}

// readObjects reads live objects in parallel, because an API server that is busy with the restart of a whole group is slow to
// answer each call. What cannot be read is not acted on in this reconcile.
func (x *run) readObjects(ctx context.Context, need leader.Need) {
	var mu sync.Mutex
	var reads []func() error
	keep := func(store func()) {
		mu.Lock()
		defer mu.Unlock()
		store()
	}
	r := &x.o.Reads
	for _, name := range need.Nodes {
		reads = append(reads, func() error {
			node, err := x.readNode(ctx, name)
			keep(func() { set(&r.Nodes, name, node) })
			return err
		})
	}
	for _, pod := range need.Pods {
		reads = append(reads, func() error {
			live := &corev1.Pod{}
			found, err := x.get(ctx, pod.Name, live)
			keep(func() { set(&r.Pods, pod.Name, ifFound(found, podOf(live))) })
			return err
		})
	}
	for _, job := range need.Jobs {
		reads = append(reads, func() error {
			live, found, err := x.readJob(ctx, job.Name)
			plain := x.plain(live, job.Current)
			keep(func() { set(&r.Jobs, job.Name, ifFound(found, &plain)); x.live[job.Name] = live })
			return err
		})
	}
	for _, slot := range need.Slots {
		reads = append(reads, func() error {
			read := leader.SlotRead{At: x.Clock.Now()}
			pods, err := x.livePods(ctx, slot)
			read.Pods, read.Failed = pods, err != nil
			keep(func() {
				if slot.Twin {
					set(&r.Twins, slot.Slot, read)
				} else {
					set(&r.Slots, slot.Slot, read)
				}
			})
			return err
		})
	}
	if err := inParallel(len(reads), func(i int) error { return reads[i]() }); err != nil {
		x.errs = append(x.errs, err)
	}
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

func ifFound[T any](found bool, value *T) *T {
	if !found {
		return nil
	}
	return value
}

// get reads an object in the owner's namespace live.
func (x *run) get(ctx context.Context, name string, into client.Object) (found bool, err error) {
	err = x.Live.Get(ctx, types.NamespacedName{Namespace: x.owner.GetNamespace(), Name: name}, into)
	return err == nil, client.IgnoreNotFound(err)
}

// readJob reads a Job of the owner, or the pod that takes its place, live.
func (x *run) readJob(ctx context.Context, name string) (job *batchv1.Job, found bool, err error) {
	if _, is := x.owner.(*corev1.Pod); is {
		pod := &corev1.Pod{}
		found, err = x.get(ctx, x.owner.GetName(), pod)
		return inplace.OfPods(pod), found, err
	}
	job = &batchv1.Job{}
	found, err = x.get(ctx, x.nameOf(name), job)
	return job, found, err
}

func (x *run) readNode(ctx context.Context, name string) (leader.Node, error) {
	node := &corev1.Node{}
	err := x.Live.Get(ctx, types.NamespacedName{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		node = nil
	case err != nil:
		return leader.Node{Failed: true}, fmt.Errorf("reading node %s: %w", name, err)
	}
	after := policy.ReadInPlace(x.owner.GetAnnotations()).NodeLostAfter
	return leader.Node{Dead: nodes.Dead(node, after, x.Clock.Now()), Unready: nodes.Unready(node)}, nil
}

// livePods returns a slot's pods as the API server has them now. It selects them by labels that both the controller and the Job
// set.
func (x *run) livePods(ctx context.Context, slot leader.SlotNeed) ([]*workload.Pod, error) {
	options := []client.ListOption{client.InNamespace(x.owner.GetNamespace()), podLabels(x.cached(slot.Job.Name), slot.Index)}
	if version := newestOf(slot.Since); version != "" {
		options = append([]client.ListOption{since(version)}, options...)
	}
	var list corev1.PodList
	if err := x.Live.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", slot.Slot, err)
	}
	pods := make([]*workload.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = podOf(&list.Items[i])
	}
	return pods, nil
}

// plain converts a Job of the owner to plain types.
func (x *run) plain(job *batchv1.Job, current bool) workload.Job {
	if x.Kind.Alone {
		child := inplace.ChildOf(job)
		job = &child
	}
	return jobOf(x.owner.GetName(), job, current)
}

// cached returns a Job of the owner from the cache.
func (x *run) cached(name string) *batchv1.Job {
	i := slices.IndexFunc(x.jobs, func(job batchv1.Job) bool { return job.Name == name })
	return &x.jobs[i]
}

// since makes a list read from the API server's own cache, at the given version or a newer one. A list from etcd may make it
// examine all pods of the namespace, which takes seconds if there are thousands.
func since(version string) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}}
}

// newestOf returns the newest of the versions. It keeps an earlier one if they cannot be compared.
func newestOf(versions []string) string {
	newest := ""
	for _, version := range versions {
		if order, err := resourceversion.CompareResourceVersion(version, newest); newest == "" || err == nil && order > 0 {
			newest = version
		}
	}
	return newest
}
