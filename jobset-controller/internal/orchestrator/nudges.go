package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// NudgeKey is the annotation by which a pod is changed, so that its kubelet looks at it. Its value has no meaning.
const NudgeKey = "holdfast.dev/nudge"

const (
	// nudgeEvery is more than the kubelet takes to see, once a second, that a record is gone.
	nudgeEvery = 1500 * time.Millisecond
	// mostNudges of a pod in a round: what does not help four times will not help.
	mostNudges = 4
	// nudgesAtOnce are sent side by side, as many times as start within nudgeFor: an API server that hears of a whole group's restart may
	// take half a second for each, and the slots that have lost their pods wait for the next look.
	nudgesAtOnce = 32
	nudgeFor     = time.Second
	// startsWithin is what a kubelet that looks once a second takes at most to start a container that has ended.
	startsWithin = 2500 * time.Millisecond
)

// nudges are the pods whose worker waits in the kubelet's back-off, beside an agent that runs. The agent has removed the record
// of the container that it stopped, on which the back-off rests. But if the kubelet looked before that, it comes back to the pod
// after ten to fifteen seconds at the earliest, and all others wait so long. Any change of the pod makes it look at once.
// Only then does it say that it backs off: until it comes back, the container has ended for all that it says.
//
// What kubelets say of thousands of pods that restart together arrives seconds late. So the store is asked who is missing first: a
// worker that has joined runs, whatever its pod's status says.
type nudges struct {
	mu sync.Mutex
	of map[types.UID]map[types.UID]*nudged // by JobSet and pod
}

type nudged struct {
	pod          types.NamespacedName
	uid          types.UID
	slot         string
	patience     time.Duration // what the kubelet is given before the first nudge
	seen         time.Time
	epoch, round int64
	times        int
	last         time.Time
}

// waitsFor tells whether a worker waits to be started though a sidecar of its pod runs (the supervisor's pods have none), and how long
// the kubelet may take for that.
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
	switch known := n.of[jobSet][pod.UID]; {
	case !waits && known != nil:
		if delete(n.of[jobSet], pod.UID); len(n.of[jobSet]) == 0 {
			delete(n.of, jobSet)
		}
	case waits && known == nil:
		if n.of == nil {
			n.of = map[types.UID]map[types.UID]*nudged{}
		}
		if n.of[jobSet] == nil {
			n.of[jobSet] = map[types.UID]*nudged{}
		}
		n.of[jobSet][pod.UID] = &nudged{
			pod: client.ObjectKeyFromObject(pod), uid: pod.UID, slot: inplace.SlotOf(pod), patience: patience, seen: now,
		}
	case waits:
		known.patience = min(known.patience, patience)
	}
	return patience, waits
}

// due are those that may be nudged now, and whether any may follow.
func (n *nudges) due(s *scope) (due []*nudged, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.of[s.js.UID] {
		if one.epoch != s.group.Epoch || one.round != s.group.Round {
			one.epoch, one.round, one.times, one.last = s.group.Epoch, s.group.Round, 0, time.Time{}
		}
		if one.times == mostNudges {
			continue
		}
		more = true
		if s.now.Sub(one.seen) >= one.patience && s.now.Sub(one.last) >= nudgeEvery {
			due = append(due, one)
		}
	}
	return due, more
}

// take counts a nudge of each, and returns them as they are now.
func (n *nudges) take(s *scope, some []*nudged) []nudged {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := make([]nudged, len(some))
	for i, one := range some {
		one.times, one.last = one.times+1, s.now
		taken[i] = *one
	}
	return taken
}

func (n *nudges) forget(jobSet types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, jobSet)
}

// nudge makes the kubelets of workers that wait in a restart look at them. A pod that changes otherwise, or is gone, needs none.
func (r *Reconciler) nudge(ctx context.Context, s *scope) error {
	if !s.restarting() {
		return nil
	}
	due, more := r.nudges.due(s)
	if more {
		s.lookIn(nudgeEvery)
	}
	if len(due) == 0 {
		return nil
	}
	missing, err := r.missing(ctx, s)
	if err != nil {
		return err
	}
	waited := sets.New(missing...)
	due = slices.DeleteFunc(due, func(one *nudged) bool { return !waited.Has(one.slot) })
	began := r.Clock.Now()
	for some := range slices.Chunk(due, nudgesAtOnce) {
		if r.Clock.Since(began) >= nudgeFor {
			s.lookIn(time.Millisecond)
			return nil
		}
		if err := r.nudgeAll(ctx, r.nudges.take(s, some)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) nudgeAll(ctx context.Context, some []nudged) error {
	patches, limited := errgroup.WithContext(ctx)
	for _, one := range some {
		patches.Go(func() error { return r.nudgeOne(limited, one) })
	}
	return patches.Wait()
}

func (r *Reconciler) nudgeOne(ctx context.Context, one nudged) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"%d.%d.%d"}}}`, one.uid, NudgeKey, one.epoch, one.round, one.times)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = one.pod.Namespace, one.pod.Name
	err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
	switch {
	case err == nil:
		log.FromContext(ctx).Info("had the kubelet look at a pod whose worker waits in its back-off", "pod", one.pod.Name, "uid", one.uid, "times", one.times)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
	default:
		return fmt.Errorf("nudging pod %s: %w", one.pod.Name, err)
	}
	return nil
}
