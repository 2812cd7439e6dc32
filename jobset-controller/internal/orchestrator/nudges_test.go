package orchestrator

import (
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	g.wantNudge(1, 0, "1.1.1")
	g.pass(time.Second)
	g.wantNudge(1, 0, "1.1.1")
	for range 6 {
		g.pass(2 * time.Second)
	}
	g.wantNudge(1, 0, "1.1.4") // and no more
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
	g.wantNudge(1, 0, "1.1.1")
}

func TestNobodyIsNudgedWho(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		gone   bool
	}{
		"runs":                    {func(*corev1.Pod) {}, false},
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
			g.wantNudge(1, 0, "")
		})
	}
}

// Its worker is back, and the kubelet's word of that is still on its way, as it is when thousands restart together.
func TestAWorkerThatHasJoinedIsNotNudged(t *testing.T) {
	g := twoJobs(t)
	g.fail("js-w-0-0", 1, 1)
	g.reconcile()
	g.see(g.changePod(1, 0, besideASidecar), false)
	g.see(g.changePod(1, 1, besideASidecar), false)
	g.joinSlot("js-w-1-0", 1, 2)
	for range 4 {
		g.pass(2 * time.Second)
	}
	g.wantNudge(1, 0, "")
	g.wantNudge(1, 1, "1.1.4")
}

func TestNudgesLeaveTheLeaderTimeForOthers(t *testing.T) {
	now := time.Unix(1000, 0)
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	s := &scope{js: js, group: &coordination.Summary{}, now: now}
	s.group.Epoch, s.group.Round = 1, 1
	var n nudges
	var slots []string
	for i := range 3 * nudgesPerLook / 2 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: slotName(0, i), UID: types.UID(slotName(0, i)), Annotations: map[string]string{
			v1alpha2.JobSetNameKey: "js", v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0", batchv1.JobCompletionIndexAnnotation: strconv.Itoa(i),
		}}}
		p.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1)
		besideASidecar(p)
		n.saw(js.UID, p, false, now)
		slots = append(slots, slotName(0, i))
	}
	due, more := n.due(s)
	first := n.take(s, due, slots, nudgesPerLook)
	due, _ = n.due(s)
	second := n.take(s, due, slots, nudgesPerLook)
	if !more || len(first) != nudgesPerLook || len(second) != nudgesPerLook/2 {
		t.Errorf("%d and then %d, more %v; want %d and %d", len(first), len(second), more, nudgesPerLook, nudgesPerLook/2)
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
