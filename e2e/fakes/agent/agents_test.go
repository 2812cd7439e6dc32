package agent

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	groups "github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	group   = "6f1c63a2-5b0e-4a55-9d2b-0c9a4f2f7b11"
	workers = 12
)

func pod(i int, driver Driver) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: fmt.Sprintf("train-w-0-%d-x", i), UID: types.UID(fmt.Sprintf("0d9fa3a5-6c7a-4a3c-9f0e-%012d", i)),
			Annotations: map[string]string{
				v1alpha2.JobSetNameKey: "train", v1alpha2.JobSetUIDKey: group, v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0",
				batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i),
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Command: []string{"train"}}}},
	}
	switch driver {
	case Exec:
		p.Spec.Containers[0].Command = []string{"/holdfast/holdfast-exec", "--", "train"}
	case CRI:
		p.Spec.InitContainers = []corev1.Container{{Name: "agent", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	}
	return p
}

func TestWorkerOf(t *testing.T) {
	for name, driver := range map[string]Driver{"supervisor": Exec, "sidecar": CRI, "neither": None} {
		t.Run(name, func(t *testing.T) {
			w, ok := workerOf(pod(3, driver))
			if !ok || w.Driver != driver || w.Slot != "train-w-0-3" || w.Group != group || w.container != "worker" {
				t.Errorf("%+v, %t", w, ok)
			}
		})
	}
	if _, ok := workerOf(&corev1.Pod{}); ok {
		t.Error("a pod without a JobSet is treated as a worker")
	}
}

// node is a kubelet that restarts containers immediately and counts the requests.
type node struct {
	all     *Agents
	mu      sync.Mutex
	pods    map[string]*corev1.Pod
	exits   int
	removed int
}

func (n *node) Exit(name types.NamespacedName, container string, code int32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.exits++
	if pod := n.pods[name.Name]; pod != nil && len(pod.Spec.InitContainers) > 0 {
		go n.all.Observe(pod, kubelet.Started{Container: container, Restarts: 1})
	}
	return nil
}

func (n *node) RemoveRecord(types.NamespacedName, string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removed++
	return nil
}

// check waits until the agents have requested the expected exits and removals.
func (n *node) check(t *testing.T, driver Driver) {
	t.Helper()
	wantExits, leastRemoved := 0, 0
	if driver == CRI {
		wantExits, leastRemoved = workers, workers-1 // the worker that failed by itself keeps its record
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		n.mu.Lock()
		exits, removed := n.exits, n.removed
		n.mu.Unlock()
		if exits == wantExits && removed >= leastRemoved {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d exits of containers, want %d; %d records removed, want %d", exits, wantExits, removed, leastRemoved)
		}
	}
}

func TestAGroupRestartsAndLosesAPod(t *testing.T) {
	for name, driver := range map[string]Driver{"under supervisors": Exec, "beside sidecars": CRI} {
		t.Run(name, func(t *testing.T) { testGroup(t, driver) })
	}
}

func testGroup(t *testing.T, driver Driver) {
	server, err := members.StartServer(t.Context(), 4*workers)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	leader := open(t, server.Address, driver)
	c := New(Options{Store: storeAt(server.Address), Share: 5, Timing: Measured()})
	defer c.Close()
	n := &node{all: c, pods: map[string]*corev1.Pod{}}
	c.Attach(n)
	begin := c.Watch("train")
	for i := range workers {
		p := pod(i, driver)
		n.mu.Lock()
		n.pods[p.Name] = p
		n.mu.Unlock()
		c.Observe(p, kubelet.Started{Container: "worker"})
	}
	await(t, leader, begin, coordination.Running, 0)

	watch := c.Watch("train")
	if _, err := c.Fail("train", "train-w-0-4"); err != nil {
		t.Fatal(err)
	}
	await(t, leader, watch, coordination.Running, 1)
	if first, last := watch.Order(0), watch.Order(1); first.Before(watch.From) || last.Before(first) {
		t.Errorf("orders from %s to %s", first, last)
	}
	if down := watch.Down(); down.Before(watch.Order(0)) {
		t.Errorf("the last program ended at %s, before the first order", down)
	}
	n.check(t, driver)

	watch = c.Watch("train")
	c.Ended(pod(4, driver)) // its pod ends, and another one starts
	other := pod(4, driver)
	other.UID = "0d9fa3a5-6c7a-4a3c-9f0e-0000000000ff"
	other.Name += "y"
	n.mu.Lock()
	n.pods[other.Name] = other
	n.mu.Unlock()
	c.Observe(other, kubelet.Started{Container: "worker"})
	await(t, leader, watch, coordination.Running, 2)
	if ended, _ := watch.Ended(); ended != 1 || c.Agents() != workers {
		t.Errorf("%d pods ended, %d agents", ended, c.Agents())
	}
	if _, err := c.Fail("train", "train-w-0-99"); !errors.Is(err, ErrNobody) {
		t.Errorf("killing a worker that does not exist: %v", err)
	}
}

// A spare takes the slot of a lost pod. The slot's next pod waits, and takes the slot back when the spare is lost.
func TestSparesTakeSlots(t *testing.T) {
	server, err := members.StartServer(t.Context(), 4*workers)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	leader := open(t, server.Address, Exec)
	c := New(Options{Store: storeAt(server.Address), Share: 5, Timing: Measured()})
	defer c.Close()
	c.Attach(&node{all: c})
	anySlot := func(p *corev1.Pod) *corev1.Pod {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: anySlotVariable, Value: "0"}}
		return p
	}
	begin := c.Watch("train")
	for i := range workers {
		c.Observe(anySlot(pod(i, Exec)), kubelet.Started{Container: "worker"})
	}
	spare := anySlot(pod(workers, Exec))
	spare.Annotations[v1alpha2.JobIndexKey], spare.Annotations[batchv1.JobCompletionIndexAnnotation] = coordination.Spares, "0"
	c.Observe(spare, kubelet.Started{Container: "worker"})
	await(t, leader, begin, coordination.Running, 0)
	if n := c.Waiting("train"); n != 1 {
		t.Fatalf("%d agents wait", n)
	}

	next := anySlot(pod(4, Exec))
	next.UID, next.Annotations[v1alpha2.SlotKey] = "0d9fa3a5-6c7a-4a3c-9f0e-0000000000ff", v1alpha2.SlotWaits
	for round, move := range []struct{ lost, heir, next *corev1.Pod }{{pod(4, Exec), spare, next}, {spare, next, nil}} {
		watch := c.Watch("train")
		c.Ended(move.lost)
		give(t, leader, move.lost, move.heir)
		if move.next != nil {
			c.Observe(move.next, kubelet.Started{Container: "worker"})
		}
		await(t, leader, watch, coordination.Running, int64(round+1))
		if at, err := c.Pod("train", "train-w-0-4"); err != nil || at.Name != move.heir.Name {
			t.Errorf("round %d: the worker runs in %s, %v", round+1, at.Name, err)
		}
	}
}

// give transfers the slot of worker 4 from one pod to another.
func give(t *testing.T, leader *valkey.Store, lost, heir *corev1.Pod) {
	t.Helper()
	stored, err := leader.Read(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	const slot = "train-w-0-4"
	w, _ := workerOf(heir)
	err = leader.Release(t.Context(), group, stored.Config.Token, stored.State.Level, 0,
		rounds.Slot{Name: slot, Pod: string(lost.UID)}, slot, rounds.Slot{Name: w.Slot, Pod: string(heir.UID)})
	if err != nil {
		t.Fatal(err)
	}
}

func storeAt(address string) func(*corev1.Pod) (valkey.Options, error) {
	return func(*corev1.Pod) (valkey.Options, error) { return valkey.Options{Address: address}, nil }
}

func open(t *testing.T, address string, driver Driver) *valkey.Store {
	t.Helper()
	leader, err := valkey.New(valkey.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leader.Close() })
	_, err = grouptest.Open(t.Context(), leader, group, groups.Wanted{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Generation: 1, Limit: math.MaxInt32, Barrier: driver == Exec,
		Stages: []coordination.Stage{{Prefix: "train-w", Jobs: 1, Pods: workers}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return leader
}

// await returns once all programs have started and the group runs in the given round.
func await(t *testing.T, leader *valkey.Store, watch *Stopwatch, phase coordination.Phase, round int64) {
	t.Helper()
	var last groups.Summary
	for {
		sum, err := grouptest.Read(t.Context(), leader, group)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := watch.Started(); n == workers && sum.Phase == phase && sum.Round == round {
			return
		}
		last = sum
		select {
		case <-t.Context().Done():
			t.Fatalf("the group is %s in round %d", last.Phase, last.Round)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Since(watch.From) > time.Minute {
			n, _ := watch.Started()
			t.Fatalf("the group is %s in round %d, %d of %d joined, %d started", last.Phase, last.Round, last.Joined, last.Size, n)
		}
	}
}
