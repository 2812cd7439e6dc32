package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	// repairsPerLook bounds what one look changes.
	repairsPerLook = 200
	minLook        = 500 * time.Millisecond
	maxLook        = 5 * time.Second
)

// repair tries for the slots that hold a round up what is cheaper than to recreate the group. The store is asked who they
// are only when there is a reason: a share of the time is over, or a pod was seen to end.
func (r *Reconciler) repair(ctx context.Context, s *scope) error {
	if !s.restarting() || (len(s.losses) == 0 && !s.round().Repairs()) {
		return nil
	}
	missing, err := r.missing(ctx, s)
	if err != nil || len(missing) == 0 {
		return err
	}
	slots, err := r.slots(ctx, s, missing)
	if err != nil {
		return err
	}
	return r.climb(ctx, s, slots)
}

// missing are the slots that the round waits for, as far as the store lists them; none if the next reconcile has to read the group anew.
// They are asked for once for each sight of the group.
func (r *Reconciler) missing(ctx context.Context, s *scope) ([]string, error) {
	if s.missing != nil {
		return s.missing, nil
	}
	missing, err := s.group.Missing(ctx, r.Store, string(s.js.UID))
	switch {
	case errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrForeignValue):
		return nil, nil
	case err != nil:
		return nil, storeFailed(err)
	}
	s.missing = missing
	return missing, nil
}

// round is the restart in progress as the ladder sees it.
func (s *scope) round() ladder.Round {
	return ladder.Round{
		Opened: time.UnixMilli(s.group.Record.ReportedAt), Clock: *s.clock, Now: s.now,
		Size: s.group.Size, Missing: s.group.Size - s.group.Joined,
	}
}

// slots puts the missing slots together with their Jobs and pods.
func (r *Reconciler) slots(ctx context.Context, s *scope, missing []string) ([]ladder.Slot, error) {
	if err := r.readPods(ctx, s); err != nil {
		return nil, err
	}
	jobs := map[string]*batchv1.Job{}
	completed := map[string]bool{}
	for i := range s.jobs {
		jobs[s.jobs[i].Name] = &s.jobs[i]
		for _, slot := range inplace.FinishedSlots(s.js.Name, &s.jobs[i]) {
			completed[slot] = true
		}
	}
	list := make([]ladder.Slot, len(missing))
	for i, name := range missing {
		job, _, _ := inplace.JobOf(name)
		list[i] = ladder.Slot{Name: name, Job: jobs[job], Completed: completed[name], Pod: s.pods[name]}
	}
	return list, nil
}

// readPods finds the newest pod of each slot. A pod that was just lost stands for its slot until a newer one is there.
func (r *Reconciler) readPods(ctx context.Context, s *scope) error {
	if s.pods != nil {
		return nil
	}
	list, err := r.listPods(ctx, s)
	if err != nil {
		return err
	}
	s.pods = map[string]*corev1.Pod{}
	for _, lost := range s.losses {
		s.newest(lost.pod)
	}
	for i := range list {
		s.newest(&list[i])
	}
	return nil
}

func (s *scope) newest(pod *corev1.Pod) {
	slot := inplace.SlotOf(pod)
	if known := s.pods[slot]; known == nil || !pod.CreationTimestamp.Before(&known.CreationTimestamp) {
		s.pods[slot] = pod
	}
}

// climb deletes what the ladder says. Of a Job that is deleted no pod is deleted by itself.
func (r *Reconciler) climb(ctx context.Context, s *scope, slots []ladder.Slot) error {
	turn := r.turn()
	over := func() bool { return turn.over(s) }
	round := s.round()
	done := map[ladder.Rung][]repaired{}
	jobs := map[string]bool{}
	var errs []error
	var pods []repaired
	for _, slot := range slots {
		switch action := ladder.Decide(round, slot); {
		case action.Rung == ladder.Pod:
			pods = append(pods, repaired{slot, action.Why})
		case action.Rung == ladder.Job && !jobs[slot.Job.Name] && len(done[ladder.Job]) < repairsPerLook && s.restarting() && !over():
			jobs[slot.Job.Name] = true
			ok, err := r.recreateJob(ctx, s, slot)
			if errs = append(errs, err); ok {
				done[ladder.Job] = append(done[ladder.Job], repaired{slot, action.Why})
			}
		}
	}
	pods = slices.DeleteFunc(pods, func(one repaired) bool { return jobs[one.Job.Name] })
	for chunk := range slices.Chunk(pods[:min(len(pods), repairsPerLook)], callsAtATime) {
		if !s.restarting() || over() {
			break
		}
		deleted, err := r.recreatePods(ctx, s, chunk)
		done[ladder.Pod], errs = append(done[ladder.Pod], deleted...), append(errs, err)
	}
	r.reportRepairs(s, done)
	return errors.Join(errs...)
}

type repaired struct {
	ladder.Slot
	why string
}

// recreatePods deletes pods after a live look at each: the cache may not show yet that its worker is back. The eviction
// comes first, so that a worker that exits 0 when it is stopped is not taken for finished.
func (r *Reconciler) recreatePods(ctx context.Context, s *scope, pods []repaired) (done []repaired, err error) {
	live := make([]*corev1.Pod, len(pods))
	errs := []error{inParallel(len(pods), func(i int) (err error) {
		live[i], err = r.stillHangs(ctx, s, pods[i].Slot)
		return err
	})}
	var evicted []int
	for i, pod := range live {
		if pod == nil || !s.restarting() {
			continue
		}
		if err := r.evict(ctx, s, pod); err != nil {
			errs = append(errs, err)
		} else if s.restarting() {
			evicted = append(evicted, i)
		}
	}
	deleted := make([]bool, len(evicted))
	errs = append(errs, inParallel(len(evicted), func(n int) (err error) {
		pod := live[evicted[n]]
		deleted[n], err = r.delete(ctx, pod, client.Preconditions{UID: &pod.UID})
		return err
	}))
	for n, i := range evicted {
		if deleted[n] {
			pods[i].Pod = live[i]
			done = append(done, pods[i])
		}
	}
	return done, errors.Join(errs...)
}

// stillHangs returns a slot's pod as the API server has it now, if it is still the one that the ladder says to delete.
func (r *Reconciler) stillHangs(ctx context.Context, s *scope, slot ladder.Slot) (*corev1.Pod, error) {
	uid := slot.Pod.UID
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(slot.Pod), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	slot.Pod = live
	if live.UID != uid || !isOf(live, slot.Job) || ladder.Decide(s.round(), slot).Rung != ladder.Pod {
		return nil, nil
	}
	return live, nil
}

// recreateJob deletes a Job in the foreground; the JobSet controller makes it again in the same epoch, so that its pods
// join the round that is waiting for them.
func (r *Reconciler) recreateJob(ctx context.Context, s *scope, slot ladder.Slot) (bool, error) {
	job, live := slot.Job, &batchv1.Job{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(job), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.UID != job.UID || !live.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if err := r.confirmLead(ctx, s); err != nil || !s.restarting() {
		return false, err
	}
	for slot, pod := range s.pods {
		if name, _, _ := inplace.JobOf(slot); name != job.Name {
			continue
		}
		if err := r.evict(ctx, s, pod); err != nil || !s.restarting() {
			return false, err
		}
	}
	return r.delete(ctx, live, client.Preconditions{UID: &job.UID}, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

// confirmLead reads the group again, and refuses a leader that has been replaced, where there may be no pod to release.
func (r *Reconciler) confirmLead(ctx context.Context, s *scope) error {
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	if err := r.readGroup(ctx, s); err != nil {
		return err
	}
	if s.stored != nil && token.Less(s.stored.Config.Token) {
		return coordination.ErrStaleLeader
	}
	return nil
}

// restarting tells whether the round that was looked at still goes on; a step of the group ends the repair. While the agents
// are asked nobody is known to be behind, and no worker is touched.
func (s *scope) restarting() bool {
	return s.group != nil && s.clock != nil && s.group.Phase == coordination.Restarting
}

func (r *Reconciler) delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) (bool, error) {
	if err := r.Client.Delete(ctx, obj, opts...); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("deleting %s for its slot's sake: %w", obj.GetName(), err)
	}
	log.FromContext(ctx).Info("deleted to bring a slot back", "name", obj.GetName(), "uid", obj.GetUID())
	return true, nil
}

// lookAgain is how often a round is looked at once its first share is over.
func (s *scope) lookAgain() time.Duration {
	round := s.round()
	if next := round.NextShare(); !round.Repairs() {
		return next + time.Millisecond
	}
	return min(max(s.inPlace.Timeout/12, minLook), maxLook)
}

// names lists a few workers.
func names(list []repaired) string {
	if len(list) == 1 {
		return "worker " + list[0].Name
	}
	return fmt.Sprintf("worker %s and %d others", list[0].Name, len(list)-1)
}
