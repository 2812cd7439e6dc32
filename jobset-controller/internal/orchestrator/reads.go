package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func (x *run) read(ctx context.Context, need leader.Need) error {
	lost, err := x.askStore(ctx, need)
	if err != nil {
		return err
	}
	x.readObjects(ctx, need)
	if !lost && !need.Objects() {
		return nil
	}
	return x.readGroup(ctx)
}

// askStore reads what a plan needs from the store. lost reports whether the store may just have lost the group. A table
// that was forged by a member is treated as empty.
func (x *run) askStore(ctx context.Context, need leader.Need) (lost bool, err error) {
	if x.o.Stored == nil {
		return false, nil
	}
	uid, reads, g := string(x.owner.GetUID()), &x.o.Reads, group.Summarize(x.o.Stored)
	keys := rounds.KeysOf(uid)
	for _, u := range need.Missing {
		joined, err := x.Store.Look(ctx, uid, keys.Joined(g.Level, u), g.Units[u].SlotNames())
		lost = lost || err != nil
		if err := x.asked(err); err != nil {
			return false, err
		}
		set(&reads.Missing, u, g.Units[u].Missing(joined))
		reads.MissingLevel = g.Level
	}
	if len(need.Holders) > 0 {
		holders, err := x.Store.Look(ctx, uid, keys.Holders(g.Generation), need.Holders)
		if err := x.asked(err); err != nil {
			return false, err
		}
		for _, slot := range need.Holders {
			reads.SetHolder(slot, holders[slot])
		}
	}
	for _, slot := range need.Finished {
		unit, _ := g.UnitOf(slot)
		finished, err := x.Store.Look(ctx, uid, keys.Finished(g.Level, unit), []string{slot})
		if err != nil {
			return false, x.storeFailed(err)
		}
		set(&reads.Finished, slot, len(finished) > 0)
	}
	if need.History {
		lines, err := x.Store.History(ctx, uid)
		reads.History, reads.HistoryRead, reads.HistoryForeign = lines, true, errors.Is(err, coordination.ErrForeignValue)
		return lost, x.asked(err)
	}
	return lost, nil
}

// readObjects reads objects live and in parallel, because an API server that is busy with the restart of a whole group
// is slow to answer each call. Objects that cannot be read are not acted on in this reconcile.
func (x *run) readObjects(ctx context.Context, need leader.Need) {
	var mu sync.Mutex
	var reads []func() (keep func(), err error)
	r := &x.o.Reads
	for _, name := range need.Nodes {
		reads = append(reads, func() (func(), error) {
			node, err := x.readNode(ctx, name)
			return func() { set(&r.Nodes, name, node) }, err
		})
	}
	for _, pod := range need.Pods {
		reads = append(reads, func() (func(), error) {
			live := &corev1.Pod{}
			found, err := x.get(ctx, pod.Name, live)
			return func() { set(&r.Pods, pod.Name, ifFound(found, podOf(live))) }, err
		})
	}
	for _, job := range need.Jobs {
		reads = append(reads, func() (func(), error) {
			live, found, err := x.readJob(ctx, job.Name)
			plain := x.plain(live, job.Current)
			return func() { set(&r.Jobs, job.Name, ifFound(found, plain)); x.live[job.Name] = live }, err
		})
	}
	version := ""
	if len(need.Slots) > 0 {
		version = x.newestVersion()
	}
	for _, slots := range listsOf(need.Slots) {
		reads = append(reads, func() (func(), error) {
			at := x.Clock.Now()
			pods, err := x.livePods(ctx, slots, version)
			return func() {
				for _, slot := range slots {
					set(&r.Slots, slot.Slot, leader.SlotRead{At: at, Pods: pods[strconv.Itoa(slot.Index)], Failed: err != nil})
				}
			}, err
		})
	}
	if err := parallel.Do(ctx, reads, func(_ context.Context, read func() (func(), error)) error {
		keep, err := read()
		mu.Lock()
		defer mu.Unlock()
		keep()
		return err
	}); err != nil {
		x.errs = append(x.errs, err)
	}
}

func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func ifFound[T any](found bool, value *T) *T {
	if !found {
		return nil
	}
	return value
}

// get performs a live read of an object in the owner's namespace.
func (x *run) get(ctx context.Context, name string, into client.Object) (found bool, err error) {
	err = x.Live.Get(ctx, types.NamespacedName{Namespace: x.owner.GetNamespace(), Name: name}, into)
	return err == nil, client.IgnoreNotFound(err)
}

// readJob performs a live read of one of the owner's Jobs, or of the pod that takes its place.
func (x *run) readJob(ctx context.Context, name string) (job *batchv1.Job, found bool, err error) {
	if x.Kind.Alone {
		live := x.Kind.New()
		found, err = x.get(ctx, x.owner.GetName(), live)
		return onlyJob(live), found, err
	}
	job = &batchv1.Job{}
	found, err = x.get(ctx, name, job)
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

// maxListed limits the slots in one List call, because their indexes are part of its URL.
const maxListed = 500

// listsOf groups slots whose pods can be read with one List call, because the API server examines all pods of the
// namespace for each call.
func listsOf(slots []leader.SlotNeed) (lists [][]leader.SlotNeed) {
	ofJob := map[string][]leader.SlotNeed{}
	for _, slot := range slots {
		ofJob[slot.Job.Name] = append(ofJob[slot.Job.Name], slot)
	}
	for _, slots := range ofJob {
		lists = slices.AppendSeq(lists, slices.Chunk(slots, maxListed))
	}
	return lists
}

// livePods reads the pods in the given slots of one Job from the API server, at the given version or a newer one, and returns
// them by index. It selects them by labels that both our controller and the Job controller set.
func (x *run) livePods(ctx context.Context, slots []leader.SlotNeed, version string) (map[string][]*workload.Pod, error) {
	job, indexes := x.cached(slots[0].Job.Name), make([]string, len(slots))
	for i, slot := range slots {
		indexes[i] = strconv.Itoa(slot.Index)
	}
	selector, err := podSelector(job, indexes)
	if err != nil {
		return nil, err
	}
	options := []client.ListOption{client.InNamespace(x.owner.GetNamespace()), client.MatchingLabelsSelector{Selector: selector}}
	if version != "" {
		// List from the API server's cache. A list from etcd may have to examine all pods of the namespace, which takes
		// seconds if there are thousands.
		raw := &metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
		options = append([]client.ListOption{&client.ListOptions{Raw: raw}}, options...)
	}
	var list corev1.PodList
	if err := x.Live.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("listing the pods of %s and %d other slots: %w", slots[0].Slot, len(slots)-1, err)
	}
	pods := map[string][]*workload.Pod{}
	for i := range list.Items {
		index := list.Items[i].Labels[podIndexKey(job)]
		pods[index] = append(pods[index], podOf(&list.Items[i]))
	}
	return pods, nil
}

func (x *run) plain(job *batchv1.Job, current bool) *workload.Job {
	if x.Kind.Alone {
		child := inplace.ChildOf(job)
		job = &child
	}
	return jobOf(x.owner.GetName(), job, current)
}

// newestVersion returns the newest version of the group's pods, including those that were just lost. If two versions cannot be
// compared, it keeps the earlier one.
func (x *run) newestVersion() string {
	newest := ""
	note := func(version string) {
		if order, err := resourceversion.CompareResourceVersion(version, newest); newest == "" || err == nil && order > 0 {
			newest = version
		}
	}
	for _, pod := range x.o.Pods {
		note(pod.Version)
	}
	for _, lost := range x.o.Lost {
		note(lost.Pod.Version)
	}
	return newest
}
