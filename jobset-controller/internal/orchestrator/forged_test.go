package orchestrator

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// deletion is a deleted object, together with the JobSet as it was in the API server at that time.
type deletion struct {
	of string
	js *v1alpha2.JobSet
}

// watchDeletions records the deletions made by the leader, which deletes several objects at a time.
func (g *rig) watchDeletions() *[]deletion {
	var mu sync.Mutex
	var seen []deletion
	g.c = interceptor.NewClient(g.c.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, deletion{fmt.Sprintf("%T %s", obj, obj.GetName()), g.jobSet()})
			return c.Delete(ctx, obj, opts...)
		},
	})
	g.r = g.leader(9)
	return &seen
}

// neighbour creates the Job and pods of another JobSet. They have copies of all labels and annotations of js, which any
// user who may create pods in the namespace could set. The pods are newer than those of js, and cannot start.
func (g *rig) neighbour() {
	g.Helper()
	job := childJob(g.jobSet())
	job.Name, job.UID = "other-w-0", "other-job"
	job.OwnerReferences[0].Name, job.OwnerReferences[0].UID = "other", "uid-other"
	g.must(g.c.Create(g.ctx, job))
	for index := range 2 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: fmt.Sprint("other-", index), UID: types.UID(fmt.Sprint("other-pod-", index)),
				Finalizers: []string{"batch.kubernetes.io/job-tracking"}, CreationTimestamp: metav1.NewTime(g.clock.Now().Add(-time.Minute)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: ptr.To(true)}},
				Annotations: map[string]string{
					v1alpha2.JobSetNameKey: "js", v1alpha2.JobSetUIDKey: uid, v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "1",
					batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index), epoch.Annotation: "1",
				},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker"}}},
		}
		cannotPull(pod)
		g.must(g.c.Create(g.ctx, pod))
	}
}

// No matter what members write to the store and what pods claim about themselves, the leader deletes only what the
// JobSet owns by UID.
func TestOnlyObjectsOfTheJobSetAreDeleted(t *testing.T) {
	joinAllBut11 := func(g *rig, life int64) {
		for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-1-0"} {
			g.joinSlot(slot, 1, life)
		}
	}
	for name, play := range map[string]func(*rig){
		"another JobSet's pod claims a missing slot": func(g *rig) {
			g.fail("js-w-0-0", 1, 1)
			g.reconcile()
			joinAllBut11(g, 2)
		},
		"the store names another JobSet's pod as the holder": func(g *rig) {
			g.fail("js-w-0-0", 1, 1)
			g.reconcile()
			joinAllBut11(g, 2)
			forged := rounds.Slot{Name: "js-w-1-1", Pod: "other-pod-1"}
			own := slotOf("js-w-1-1", 1)
			level, unit, _ := g.at(own, 1)
			g.call(rounds.Down(level.Incarnation, unit, rounds.Death{Slot: own, ID: "forged", Leaves: true, Cause: "exit"}))
			g.joinPod(forged, 1, 1)
			g.reconcile()
			g.down(forged, 1, 1, false, coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindExit}})
			g.reconcile()
			joinAllBut11(g, 3)
		},
		"a member requests recreation": func(g *rig) {
			g.ask("js-w-0-0", coordination.KindGap)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := twoJobs(t)
			seen := g.watchDeletions()
			g.neighbour()
			play(g)
			for range 30 {
				g.pass(5 * time.Second)
			}
			for _, d := range *seen {
				if strings.Contains(d.of, "other") {
					t.Errorf("the leader deletes %s", d.of)
				}
			}
			if len(*seen) == 0 {
				t.Error("nothing was deleted, so the case proves nothing")
			}
		})
	}
}

// A repair deletes objects only after its restart has been counted, and a recreation only after the epoch has been
// recorded.
func TestDeletionFollowsItsRecord(t *testing.T) {
	g := oneHangs(t)
	seen := g.watchDeletions()
	for range 30 {
		g.pass(5 * time.Second)
	}
	kinds := map[bool]int{}
	for _, d := range *seen {
		record, err := epoch.Of(d.js.Annotations)
		g.must(err)
		charged, _ := strconv.Atoi(d.js.Annotations[v1alpha2.InPlaceRestartsKey])
		recreation := record.Epoch > 1
		kinds[recreation]++
		if want := 1 + kinds[true]; charged < min(want, 2) {
			t.Errorf("%s is deleted in epoch %d with %d restarts charged", d.of, record.Epoch, charged)
		}
	}
	if kinds[false] == 0 || kinds[true] == 0 {
		t.Errorf("deletions for repairs and for recreation: %v", kinds)
	}
}

// The store checks the leader's token before each deletion made on behalf of a slot.
func TestReplacedLeaderWithAHangingWorkerDeletesNothing(t *testing.T) {
	g := oneHangs(t)
	old := g.r
	g.pass(0)
	g.r = g.leader(8)
	g.clock.SetTime(g.clock.Now().Add(time.Second))
	g.takeOver(8)
	seen := g.watchDeletions()
	old.Client, g.r = g.c, old
	g.clock.SetTime(g.clock.Now().Add(25 * time.Second))
	_, _ = g.r.Reconcile(g.ctx, requestOf("js")) // its result does not matter here
	if len(*seen) != 0 {
		t.Errorf("it deletes %v", (*seen)[0].of)
	}
}

// Text that a member has written to its group's record is truncated to fit into an event.
func TestForgedTextsAreTruncated(t *testing.T) {
	if got := short(strings.Repeat("é", 2000)); len(got) > 1024 || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes, %q", len(got), got[len(got)-10:])
	}
	if got := short("as it is"); got != "as it is" {
		t.Errorf("%q", got)
	}
}

func requestOf(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}
