//go:build envtest

package placement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

func held(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: exclusive.Gate}, {Name: "example.com/other"}}
}

func to(domain string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{rack: domain, "kept": "true"} }
}

// where returns the domain in which a pod may run, and the pod's scheduling gates.
func (w *world) where(pod *corev1.Pod) string {
	var now corev1.Pod
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
		return fmt.Sprint(apierrors.ReasonForError(err))
	}
	if now.UID != pod.UID {
		return "another pod"
	}
	var gates []string
	for _, g := range now.Spec.SchedulingGates {
		gates = append(gates, g.Name)
	}
	return fmt.Sprintf("%s %v", now.Spec.NodeSelector[rack], gates)
}

func (w *world) awaitWhere(pod *corev1.Pod, want string) {
	w.Helper()
	w.Eventually(func() string {
		if got := w.where(pod); got != want {
			return fmt.Sprintf("%s is %q, want %q", pod.Name, got, want)
		}
		return ""
	})
}

// A follower that was created before its leader had a node is released once the leader has one. Only our own scheduling
// gate is removed.
func TestFollowerFollowsItsLeader(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	leader, follower := w.pod("leader", "0"), w.pod("f1", "1", held)
	w.awaitWhere(follower, " [holdfast.dev/exclusive-placement example.com/other]")
	w.bind(leader, "n1")
	w.awaitWhere(follower, "r1 [example.com/other]")
}

// The leader was rescheduled while followers were being scheduled to its old domain.
func TestFollowersOfAnotherDomainAreRecreated(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	w.node("n2", "r2")
	old := w.pod("leader", "0")
	w.bind(old, "n1")
	strays := w.pod("f1", "1", to("r1"))
	w.OK(w.Delete(w.Context(), old))
	leader := w.pod("leader-2", "0")
	w.bind(leader, "n2")
	stays := w.pod("f2", "2", to("r2")) // created only now, because a reconcile that still finds the old leader would evict it
	w.awaitWhere(strays, "NotFound")
	w.awaitWhere(stays, "r2 []")
	w.AwaitEvent("FollowersEvicted/Placing: 1 pods are being recreated in " + rack + " r2")
}

// A lost pod is replaced while its leader is lost as well. The running pods determine the Job's domain.
func TestLostFollowerReturnsWithoutItsLeader(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	runs := w.pod("f1", "1", to("r1"))
	w.bind(runs, "n1")
	lost := w.pod("f2", "2", held)
	w.awaitWhere(lost, "r1 [example.com/other]")
	w.awaitWhere(runs, "r1 []")
}

// A node without the label has no domain. Once it gets the label, the followers are released.
func TestLeaderOnANodeWithoutTheLabelIsReported(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "")
	leader, follower := w.pod("leader", "0"), w.pod("f1", "1", held)
	w.bind(leader, "n1")
	w.AwaitEvent("TopologyDomainUnknown/Placing: node n1 of pod leader has no label " + rack)
	if got := w.where(follower); !strings.Contains(got, exclusive.Gate) {
		t.Errorf("the follower is %q", got)
	}
}

// Pods that have the same label but belong to another Job are ignored.
func TestPodsOfAnotherOwnerAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	w.node("n2", "r2")
	leader := w.pod("leader", "0")
	foreign := w.pod("foreign", "1", to("r2"), func(p *corev1.Pod) { p.OwnerReferences = nil })
	mark := w.pod("mark", "1", held)
	w.bind(leader, "n1")
	w.awaitWhere(mark, "r1 [example.com/other]") // the Job was reconciled
	w.awaitWhere(foreign, "r2 []")
}

// status writes the status of the Job, as the Job controller does.
func (w *world) status(change func(*batchv1.JobStatus)) {
	w.Helper()
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(w.job), w.job))
	change(&w.job.Status)
	w.OK(w.Status().Update(w.Context(), w.job))
}

// Index 0 had completed when the Job was suspended. Its domain may belong to another Job by now.
func TestCompletedPodHoldsNoFollower(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	w.node("n2", "r2")
	done := w.pod("done", "0")
	w.bind(done, "n1")
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(done), done))
	done.Status.Phase = corev1.PodSucceeded
	w.OK(w.Status().Update(w.Context(), done))
	follower := w.pod("f2", "2", held)
	time.Sleep(4 * debounceHeld)
	if got := w.where(follower); !strings.Contains(got, exclusive.Gate) {
		t.Errorf("the follower is placed where the Job ran before it was suspended: %q", got)
	}
	leader := w.pod("f1", "1", func(p *corev1.Pod) { p.Annotations[exclusive.LeaderKey] = "true" })
	w.bind(leader, "n2")
	w.awaitWhere(follower, "r2 [example.com/other]")
}

// Followers were created before it was known that index 0 had finished.
func TestFollowerWithoutALeaderLeads(t *testing.T) {
	w := newWorld(t)
	w.node("n1", "r1")
	w.status(func(s *batchv1.JobStatus) { s.CompletedIndexes, s.StartTime = "0", ptr.To(metav1.Now()) })
	first, second := w.pod("f1", "1", held), w.pod("f2", "2", held)
	w.AwaitEvent("LeaderReplaced/Placing: the pod with index 0 has finished; pod f1 is the new leader, " +
		"and its " + rack + " may not be exclusive")
	w.awaitWhere(first, " [example.com/other]")
	time.Sleep(4 * debounceHeld)
	if got := w.where(second); !strings.Contains(got, exclusive.Gate) {
		t.Errorf("a second pod leads: %q", got)
	}
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(first), first))
	first.Spec.SchedulingGates = nil
	w.OK(w.Update(w.Context(), first))
	w.bind(first, "n1")
	w.awaitWhere(second, "r1 [example.com/other]")
}
