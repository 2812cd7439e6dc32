package orchestrator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// besideASidecar is a worker in the kubelet's back-off, and an agent that runs.
func besideASidecar(p *corev1.Pod) {
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "agent"}} // as the cache keeps one that runs
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container=worker",
	}}
}

func (g *rig) wantNudge(job, index int, want string) {
	g.Helper()
	if got := g.pod(job, index).Annotations[NudgeKey]; got != want {
		g.Errorf("pod %d-%d has nudge %q, want %q", job, index, got, want)
	}
}

// The kubelet looked between the exit and the removal of the record, and would come back in ten seconds.
func TestAWorkerThatWaitsInTheBackOffIsNudged(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.reconcile()
	g.wantNudge(1, 0, "1.1.1-1")
	g.pass(time.Second)
	g.wantNudge(1, 0, "1.1.1-1")
	for range 6 {
		g.pass(2 * time.Second)
	}
	g.wantNudge(1, 0, "1.1.4-1") // and no more
	for _, other := range []struct{ job, index int }{{0, 0}, {0, 1}, {1, 1}} {
		g.wantNudge(other.job, other.index, "")
	}
	g.wantDeleted()
}

// hasEnded is all that the kubelet says of a worker that it looked at too early, until it comes back.
func hasEnded(p *corev1.Pod) {
	besideASidecar(p)
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143}}
}

func TestAWorkerThatHasEndedIsNudgedWhenItsKubeletTakesTooLong(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, hasEnded), false)
	g.pass(2 * time.Second)
	g.wantNudge(1, 0, "")
	g.pass(time.Second)
	g.wantNudge(1, 0, "1.1.1-1")
}

// Its record stays, because it failed by itself: nothing helps before the kubelet's back-off of 10 s is over, and something does then.
func TestTheLastNudgeComesWhenTheBackOffIsOver(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, hasEnded), false)
	began, before := g.clock.Now(), ""
	var at []string
	for range 30 {
		g.pass(500 * time.Millisecond)
		if now := g.pod(1, 0).Annotations[NudgeKey]; now != before {
			at, before = append(at, g.clock.Since(began).String()), now
		}
	}
	if diff := cmp.Diff([]string{"2.5s", "4s", "7s", "11.5s"}, at); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNobodyIsNudgedWho(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		gone   bool
	}{
		"runs":                    {beside, false},
		"has no sidecar":          {func(p *corev1.Pod) { besideASidecar(p); p.Status.InitContainerStatuses = nil }, false},
		"waits for another thing": {func(p *corev1.Pod) { besideASidecar(p); cannotPull(p) }, false},
		"is gone":                 {besideASidecar, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := twoJobs(t)
			g.fail("js-w-0-0", 1, 1)
			g.reconcile()
			g.see(g.changePod(1, 0, c.change), c.gone)
			g.reconcile()
			g.pass(startsWithin)
			g.wantNudge(1, 0, "")
		})
	}
}

func TestNudgesOfARoundThatIsOverAreForgotten(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.reconcile()
	g.wantNudge(1, 0, "1.1.1-1")
	for job := range 2 {
		for index := range 2 {
			g.joinSlot(slotName(job, index), 1, 2)
		}
	}
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 1)
	if n := len(g.r.nudges.sent); n != 0 {
		t.Errorf("those of %d groups are remembered", n)
	}
}

// Whose a pod is says whoever made it.
func TestAPodOfAnotherNamespaceIsNotNudged(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	forged := g.pod(1, 0)
	forged.Namespace, forged.ResourceVersion, forged.UID = "other", "", "forged"
	besideASidecar(forged)
	g.must(g.c.Create(g.ctx, forged))
	g.see(forged, false)
	g.pass(time.Second)
	g.must(g.c.Get(g.ctx, client.ObjectKeyFromObject(forged), forged))
	if nudge := forged.Annotations[NudgeKey]; nudge != "" {
		t.Errorf("nudged: %s", nudge)
	}
}

// failing has the API server refuse the patches of one pod.
func (g *rig) failing(pod string, err func() error) *atomic.Int32 {
	var refused atomic.Int32
	g.r.Client = g.through(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*corev1.Pod); is && o.GetName() == pod {
				refused.Add(1)
				return err()
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	return &refused
}

var errBusy = apierrors.NewInternalError(errors.New("failed calling webhook"))

// It was not nudged, so the failures do not use its nudges up; and they are no reason to look at the group later.
func TestANudgeThatFailsIsSentAgainAndHoldsNobodyUp(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.see(g.changePod(1, 1, besideASidecar), false)
	busy := true
	failed := g.failing("js-w-1-0", func() error {
		if busy {
			return errBusy
		}
		pod := g.pod(1, 0)
		pod.Annotations[NudgeKey] = "at last"
		return g.c.Update(g.ctx, pod)
	})
	for range mostNudges + 2 {
		if again := g.reconcile(); again > nudgeEvery {
			t.Fatalf("the next look is in %s", again)
		}
		g.clock.SetTime(g.clock.Now().Add(nudgeEvery))
	}
	if failed.Load() != mostNudges+2 {
		t.Errorf("%d nudges failed", failed.Load())
	}
	busy = false
	g.pass(nudgeEvery)
	g.wantNudge(1, 0, "at last")
	if g.pod(1, 1).Annotations[NudgeKey] == "" {
		t.Error("the other was not nudged")
	}
}

// Whoever may refuse pods refuses this one for good.
func TestANudgeThatIsForbiddenIsNotSentForEver(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, besideASidecar), false)
	refused := g.failing("js-w-1-0", func() error {
		return apierrors.NewForbidden(corev1.Resource("pods"), "js-w-1-0", errors.New("no"))
	})
	for range 3 * mostNudges {
		g.pass(2 * time.Second)
	}
	if refused.Load() != mostNudges {
		t.Errorf("sent %d times, want %d", refused.Load(), mostNudges)
	}
}

// A value that is there already would be no change, and no kubelet would look.
func TestANewLeadersNudgeIsAChange(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	waits := g.changePod(1, 0, besideASidecar)
	g.see(waits, false)
	g.reconcile()
	g.wantNudge(1, 0, "1.1.1-1")
	g.r = g.leader(2)
	g.reconcile()
	g.see(waits, false)
	g.reconcile()
	g.wantNudge(1, 0, "1.1.1-2")
}

// Its worker is back, and the kubelet's word of that is still on its way, as it is when thousands restart together.
func TestAWorkerThatHasJoinedIsNotNudged(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.see(g.changePod(1, 1, besideASidecar), false)
	g.joinSlot("js-w-1-0", 1, 2)
	for range 7 {
		g.pass(2 * time.Second)
	}
	g.wantNudge(1, 0, "")
	g.wantNudge(1, 1, "1.1.4-1")
}

// The API server takes long for each, so the rest waits for the next look.
func TestNudgesLeaveTheLeaderTimeForOthers(t *testing.T) {
	const workers = nudgesAtOnce + nudgesAtOnce/2
	g := newRig(t, func(js *v1alpha2.JobSet) {
		spec := &js.Spec.ReplicatedJobs[0].Template.Spec
		spec.Parallelism, spec.Completions = ptr.To[int32](workers), ptr.To[int32](workers)
	})
	g.changeJob(func(job *batchv1.Job) {
		job.Labels[v1alpha2.ReplicatedJobNameKey], job.Labels[v1alpha2.JobIndexKey] = "w", "0"
		job.Spec.Parallelism, job.Spec.Completions = ptr.To[int32](workers), ptr.To[int32](workers)
	})
	g.reconcile()
	for i := range workers {
		g.makePod(0, i, nil)
		g.joinSlot(slotName(0, i), 1, 1)
	}
	g.reconcile()
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	for i := range workers {
		g.see(g.changePod(0, i, besideASidecar), false)
	}
	var sent atomic.Int32
	g.r.Client = g.through(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, is := o.(*corev1.Pod); is && sent.Add(1)%nudgesAtOnce == 0 {
				g.clock.SetTime(g.clock.Now().Add(turnFor))
			}
			return c.Patch(ctx, o, patch, opts...)
		},
	})
	if again := g.reconcile(); sent.Load() != nudgesAtOnce || again > time.Millisecond {
		t.Errorf("%d were nudged in the first look, and the next is in %s; want %d and at once", sent.Load(), again, nudgesAtOnce)
	}
	g.pass(nudgeEvery) // those of the first look may be nudged again, and are not before the others
	for i := range workers {
		if g.pod(0, i).Annotations[NudgeKey] == "" {
			t.Errorf("after two looks, worker %d was never nudged", i)
		}
	}
}

// down is the end of a worker on the order.
func (g *rig) down(slot string, e, life int64) {
	g.Helper()
	m, i := member(slot, e, life)
	d := coordination.Down{Member: m, Instance: i, ExitCode: 143, Ordered: true, Seen: coordination.Unseen()}
	if _, err := g.store.Down(g.ctx, uid, d); err != nil {
		g.Fatalf("down %s: %v", slot, err)
	}
}

// beside is a worker of whose end the API server has not heard, beside an agent that runs.
func beside(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "agent"}}
}

// The store knows that all have ended and who is not back; what their kubelets say is on its way.
func TestWhoeverIsStuckIsNudgedThoughItsStatusSaysNothing(t *testing.T) {
	g := twoJobs(t)
	for job := range 2 {
		for index := range 2 {
			g.changePod(job, index, beside)
		}
	}
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.down("js-w-0-1", 1, 1)
	g.down("js-w-1-0", 1, 1)
	for range 4 { // one has not ended yet: it may take its time
		g.pass(time.Second)
	}
	g.wantNudge(1, 0, "")
	g.down("js-w-1-1", 1, 1)
	g.joinSlot("js-w-0-0", 1, 2)
	g.pass(time.Second)
	g.wantNudge(1, 0, "")
	g.joinSlot("js-w-0-1", 1, 2)
	g.pass(time.Second)
	g.wantNudge(1, 0, "")
	for range 12 {
		g.pass(time.Second)
	}
	g.wantNudge(1, 0, "1.1.4-1")
	g.wantNudge(1, 1, "1.1.4-1")
	g.wantNudge(0, 0, "")
	g.wantNudge(0, 1, "")
}

// While some come back all the time, the others get as long as a kubelet takes.
func TestWhoeverIsMissingForTooLongIsNudgedThoughOthersComeBack(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &rounds{}
	var group coordination.Summary
	group.Phase, group.Epoch, group.Round, group.Size = coordination.Restarting, 1, 1, 100
	look := func(downs, joined int64, after time.Duration) (bool, time.Duration) {
		now = now.Add(after)
		group.Record.Downs, group.Joined = downs, joined
		r.clock(uid, group, time.Minute, now)
		return r.stuck(uid, now)
	}
	for i, c := range []struct {
		downs, joined int64
		after, wait   time.Duration
		stuck         bool
	}{
		{99, 0, 0, stallsFor, false},
		{99, 0, time.Minute, stallsFor, false},
		{100, 0, time.Second, stallsFor, false},
		{100, 10, time.Second, startsWithin - time.Second, false},
		{100, 20, time.Second, startsWithin - 2*time.Second, false},
		{100, 30, time.Second, 0, true},
	} {
		if stuck, wait := look(c.downs, c.joined, c.after); stuck != c.stuck || wait != c.wait {
			t.Errorf("look %d: stuck %t, again in %s; want %t, %s", i, stuck, wait, c.stuck, c.wait)
		}
	}
	group.Round, group.Record.Downs = 2, 0
	if stuck, _ := look(0, 0, time.Second); stuck {
		t.Error("another round is stuck from its first moment")
	}
}

func TestNobodyIsNudgedAtRestNorAfterItRuns(t *testing.T) {
	g := twoJobs(t)
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.reconcile()
	g.wantNudge(1, 0, "")
	runs := g.changePod(1, 0, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	})
	g.see(runs, false)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.wantNudge(1, 0, "")
}

// A look reads the group, and may cost the store a look at every slot.
func TestAGroupIsNotLookedAtAllTheTimeWhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		down   bool
	}{
		"nobody has a sidecar": {func(spec *corev1.PodSpec) {
			spec.InitContainers, spec.Containers = nil, []corev1.Container{{Command: []string{"/holdfast/holdfast-exec"}}}
		}, false},
		"all have been nudged": {func(*corev1.PodSpec) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.InPlaceTimeoutKey] = "30m" })
			g.changeJob(func(job *batchv1.Job) { c.change(&job.Spec.Template.Spec) })
			g.reconcile()
			for i := range 2 {
				g.makePod(0, i, beside)
				g.joinSlot(slotName(0, i), 1, 1)
			}
			g.reconcile()
			g.fail("js-w-0-0", 1, 1)
			if c.down {
				g.down("js-w-0-1", 1, 1)
			}
			looks := 0
			for end := g.clock.Now().Add(5 * time.Minute); g.clock.Now().Before(end); looks++ {
				g.clock.SetTime(g.clock.Now().Add(g.reconcile()))
			}
			if most := int(5*time.Minute/fenceLook) + 2*mostNudges; looks > most {
				t.Errorf("looked %d times in five minutes, want at most %d", looks, most)
			}
		})
	}
}

// A step that enters in the middle of a restart makes the group larger than the number of those who have to end.
func TestAllHaveEndedThoughTheGroupGrows(t *testing.T) {
	r := &rounds{}
	var group coordination.Summary
	group.Phase, group.Epoch, group.Round, group.Size = coordination.Restarting, 1, 1, 100
	now := time.Unix(1000, 0)
	r.clock(uid, group, time.Minute, now)
	group.Size, group.Record.Downs = 120, 100
	r.clock(uid, group, time.Minute, now)
	if stuck, _ := r.stuck(uid, now.Add(startsWithin)); !stuck {
		t.Error("nobody is stuck")
	}
}
