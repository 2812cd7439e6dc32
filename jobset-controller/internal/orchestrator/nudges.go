package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// NudgeKey is the annotation by which a pod is changed, so that its kubelet looks at it. Its value has no meaning.
const NudgeKey = "holdfast.dev/nudge"

const (
	// nudgeEvery is more than the kubelet takes to see, once a second, that a record is gone. After the second nudge it is twice that, and so
	// on: the last one comes when the shortest back-off, 10 s, is over, and the kubelet would not look for five more.
	nudgeEvery = 1500 * time.Millisecond
	// mostNudges of a pod in a round: what does not help four times will not help.
	mostNudges = 4
	// nudgesAtOnce are sent side by side, as many times as begin in one turn.
	nudgesAtOnce = 100
	// nudgeWithin is what the API server, and whoever it asks about pods, has for one of them.
	nudgeWithin = 5 * time.Second
	// startsWithin is what a kubelet that looks once a second takes at most to start a container that has ended.
	startsWithin = 2500 * time.Millisecond
	// stallsFor is how long nobody has come back while most kubelets still look.
	stallsFor = 1500 * time.Millisecond
)

// nudges are the pods whose worker waits in the kubelet's back-off, beside an agent that runs. The agent has removed the record
// of the container that it stopped, on which the back-off rests. But if the kubelet looked before that, it comes back to the pod
// after ten to fifteen seconds at the earliest, and all others wait so long. Any change of the pod makes it look at once.
// Only then does it say that it backs off: until it comes back, the container has ended for all that it says.
//
// What kubelets say of thousands of pods that restart together arrives seconds late. So the store is asked who is missing first: a
// worker that has joined runs, whatever its pod's status says.
//
// For the same reason nobody waits for that status where the store alone says enough: all workers have ended, and for longer than a
// kubelet takes none of those that are missing has come back.
type nudges struct {
	mu      sync.Mutex
	waiting map[types.UID]map[types.UID]*waiting // by JobSet and pod
	sent    map[types.UID]*sent                  // by JobSet
}

// target is a pod that may be nudged.
type target struct {
	pod  types.NamespacedName
	uid  types.UID
	slot string
}

func targetOf(pod *corev1.Pod) target {
	return target{pod: client.ObjectKeyFromObject(pod), uid: pod.UID, slot: inplace.SlotOf(pod)}
}

// waiting is one whose status says that its worker has ended.
type waiting struct {
	target
	patience time.Duration // what the kubelet is given before the first nudge
	seen     time.Time
}

// sent are the nudges of one round.
type sent struct {
	epoch, round int64
	to           map[types.UID]sending
}

type sending struct {
	times int
	last  time.Time
}

// nudge is one that is to be sent.
type nudge struct {
	target
	epoch, round int64
	times        int
}

// waitsFor tells whether a worker waits to be started though a sidecar of its pod runs, and how long the kubelet may take for that.
// A pod under the supervisor may have a sidecar of another kind; a look of its kubelet does no harm.
func waitsFor(pod *corev1.Pod) (patience time.Duration, waits bool) {
	if len(pod.Status.InitContainerStatuses) == 0 || !pod.DeletionTimestamp.IsZero() {
		return 0, false
	}
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff":
			return 0, true
		case c.State.Terminated != nil:
			patience, waits = startsWithin, true
		}
	}
	return patience, waits
}

// saw notes whether a pod waits, and tells how long from now the kubelet may take. It costs O(1).
func (n *nudges) saw(jobSet types.UID, pod *corev1.Pod, gone bool, now time.Time) (patience time.Duration, waits bool) {
	patience, waits = waitsFor(pod)
	waits = waits && !gone
	n.mu.Lock()
	defer n.mu.Unlock()
	switch known := n.waiting[jobSet][pod.UID]; {
	case !waits && known != nil:
		if delete(n.waiting[jobSet], pod.UID); len(n.waiting[jobSet]) == 0 {
			delete(n.waiting, jobSet)
		}
	case waits && known == nil:
		if n.waiting == nil {
			n.waiting = map[types.UID]map[types.UID]*waiting{}
		}
		if n.waiting[jobSet] == nil {
			n.waiting[jobSet] = map[types.UID]*waiting{}
		}
		n.waiting[jobSet][pod.UID] = &waiting{target: targetOf(pod), patience: patience, seen: now}
	case waits:
		known.patience = min(known.patience, patience)
	}
	return patience, waits
}

// due are those whose status says that they may be nudged now, and whether any may follow.
func (n *nudges) due(s *scope) (due []target, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := n.sentIn(s)
	for uid, one := range n.waiting[s.js.UID] {
		if sent.to[uid].times == mostNudges || one.pod.Namespace != s.js.Namespace { // whose a pod is says whoever made it
			continue
		}
		more = true
		if s.now.Sub(one.seen) >= one.patience && sent.again(uid, s.now) {
			due = append(due, one.target)
		}
	}
	return due, more
}

// among are those of the pods that may be nudged now, whatever their status says of the worker, because a sidecar runs in them; and
// whether any may follow.
func (n *nudges) among(s *scope, pods []*corev1.Pod) (due []target, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := n.sentIn(s)
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning || len(pod.Status.InitContainerStatuses) == 0 || !pod.DeletionTimestamp.IsZero() || sent.to[pod.UID].times == mostNudges {
			continue
		}
		more = true
		if sent.again(pod.UID, s.now) {
			due = append(due, targetOf(pod))
		}
	}
	return due, more
}

// sentIn are those of the round in progress.
func (n *nudges) sentIn(s *scope) *sent {
	known := n.sent[s.js.UID]
	if known == nil || known.epoch != s.group.Epoch || known.round != s.group.Round {
		known = &sent{epoch: s.group.Epoch, round: s.group.Round, to: map[types.UID]sending{}}
		if n.sent == nil {
			n.sent = map[types.UID]*sent{}
		}
		n.sent[s.js.UID] = known
	}
	return known
}

// again tells whether a pod may be nudged once more by now.
func (s *sent) again(pod types.UID, now time.Time) bool {
	before := s.to[pod]
	return before.times < mostNudges && now.Sub(before.last) >= time.Duration(before.times)*nudgeEvery
}

// fewestFirst brings those to the front that were nudged least: where the time is not enough for all, nobody is left out for ever.
func (n *nudges) fewestFirst(s *scope, due []target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := n.sentIn(s)
	slices.SortStableFunc(due, func(a, b target) int { return cmp.Compare(sent.to[a.uid].times, sent.to[b.uid].times) })
}

// take counts a nudge of each.
func (n *nudges) take(s *scope, some []target) []nudge {
	n.mu.Lock()
	defer n.mu.Unlock()
	sent := n.sentIn(s)
	taken := make([]nudge, len(some))
	for i, one := range some {
		times := sent.to[one.uid].times + 1
		sent.to[one.uid] = sending{times: times, last: s.now}
		taken[i] = nudge{target: one, epoch: sent.epoch, round: sent.round, times: times}
	}
	return taken
}

// giveBack counts a nudge no more that the API server did not take.
func (n *nudges) giveBack(s *scope, one nudge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if sent := n.sentIn(s); sent.epoch == one.epoch && sent.round == one.round {
		before := sent.to[one.uid]
		before.times--
		sent.to[one.uid] = before
	}
}

// rest forgets a round that is over.
func (n *nudges) rest(jobSet types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sent, jobSet)
}

func (n *nudges) forget(jobSet types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiting, jobSet)
	delete(n.sent, jobSet)
}

// nudge makes the kubelets of workers that wait in a restart look at them. A pod that changes otherwise, or is gone, needs none.
func (r *Reconciler) nudge(ctx context.Context, s *scope) error {
	if !s.restarting() {
		r.nudges.rest(s.js.UID)
		return nil
	}
	due, more := r.nudges.due(s)
	if more {
		s.lookIn(nudgeEvery)
	}
	stuck := r.areStuck(s)
	if len(due) == 0 && !stuck {
		return nil
	}
	missing, err := r.missing(ctx, s)
	if err != nil {
		return err
	}
	if stuck {
		due, err = r.stuck(ctx, s, missing)
	} else {
		waited := sets.New(missing...)
		due = slices.DeleteFunc(due, func(one target) bool { return !waited.Has(one.slot) })
	}
	return errors.Join(err, r.nudgeAll(ctx, s, due))
}

// areStuck tells whether those who are missing take too long. Only a sidecar leaves the start of a worker to the kubelet; what a supervisor
// takes is not for nudges to shorten.
func (r *Reconciler) areStuck(s *scope) bool {
	if s.rung() != recovering.RungGroup {
		return false
	}
	stuck, wait := r.rounds.stuck(s.js.UID, s.now)
	if wait > 0 {
		s.lookIn(wait)
	}
	return stuck
}

// stuck are the pods of all missing slots: those that wait by their status are among them.
func (r *Reconciler) stuck(ctx context.Context, s *scope, missing []string) ([]target, error) {
	if err := r.readPods(ctx, s); err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for _, slot := range missing {
		if pod := s.pods[slot]; pod != nil {
			pods = append(pods, pod)
		}
	}
	due, more := r.nudges.among(s, pods)
	if more {
		s.lookIn(nudgeEvery)
	}
	return due, nil
}

// nudgeAll sends what can be sent in its turn. What fails is for a later look, and keeps nothing else of the group waiting.
func (r *Reconciler) nudgeAll(ctx context.Context, s *scope, due []target) error {
	if len(due) == 0 {
		return nil
	}
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	r.nudges.fewestFirst(s, due)
	turn := r.turn()
	for some := range slices.Chunk(due, nudgesAtOnce) {
		if turn.over(s) {
			break
		}
		if failed, err := r.send(ctx, s, token, r.nudges.take(s, some)); err != nil {
			log.FromContext(ctx).Error(err, "nudging pods; the next look tries again", "failed", failed, "of", len(some))
			s.lookIn(nudgeEvery)
		}
	}
	return nil
}

// send sends nudges side by side. It returns how many failed, and one of the errors.
func (r *Reconciler) send(ctx context.Context, s *scope, token coordination.Token, some []nudge) (failed int, err error) {
	errs := make([]error, len(some))
	var all sync.WaitGroup
	for i, one := range some {
		all.Go(func() { errs[i] = r.nudgeOne(ctx, token, one) })
	}
	all.Wait()
	for i, one := range some {
		if errs[i] == nil {
			continue
		}
		failed, err = failed+1, errs[i]
		if !apierrors.IsForbidden(errs[i]) {
			r.nudges.giveBack(s, one)
		}
	}
	return failed, err
}

// nudgeOne changes the pod, unless it is gone or another has its name. Two leaders' values differ: a change to what is there is none.
func (r *Reconciler) nudgeOne(ctx context.Context, token coordination.Token, one nudge) error {
	ctx, cancel := context.WithTimeout(ctx, nudgeWithin)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"%d.%d.%d-%d"}}}`, one.uid, NudgeKey, one.epoch, one.round, one.times, token.Transitions)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = one.pod.Namespace, one.pod.Name
	err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
	switch {
	case err == nil:
		log.FromContext(ctx).Info("had the kubelet look at a pod whose worker is not back", "pod", one.pod.Name, "uid", one.uid, "times", one.times)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err): // a merge patch with another UID is invalid
	default:
		return fmt.Errorf("nudging pod %s: %w", one.pod.Name, err)
	}
	return nil
}
