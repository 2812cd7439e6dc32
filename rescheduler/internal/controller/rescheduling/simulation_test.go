package rescheduling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

const (
	simDay   = 24 * time.Hour
	simTick  = time.Minute
	simSeeds = 4
	// simSettled is the time by which a fault of the workload itself must have been recognized. Its pods are not moved after that.
	simSettled = simDay / 2
)

// simFault is the fault of a workload or its node.
type simFault string

const (
	simHealthy   simFault = "healthy"
	simBroken    simFault = "one broken replica"     // slot 0 crashes on every start, on every node
	simLeak      simFault = "all replicas leak"      // each container repeatedly exceeds its own memory limit
	simLateCrash simFault = "all replicas wear out"  // each new pod is healthy for a while, and then crashes in a loop
	simUnlimited simFault = "leak without a limit"   // like simLeak, but the containers have no memory limit
	simRejected  simFault = "rejected on every node" // the kubelet rejects all its pods, on every node
	simRuntime   simFault = "broken runtime"         // from noon on, three nodes cannot start its containers
)

// simWorkload is one workload of the simulation.
type simWorkload struct {
	name     string
	fault    simFault
	kind     string // the pods of a StatefulSet have identities, those of a ReplicaSet do not
	replicas int
	retries  int
	period   time.Duration // time until a container leaks enough memory to be killed, or until a pod starts to crash

	owner *metav1.PartialObjectMetadata
	made  int
	moves []simMove
}

type simMove struct {
	at   time.Time
	node string
}

// simulation runs the real controller against a simulated cluster for a day.
type simulation struct {
	*testing.T
	*simCluster
	config    settings.Rescheduling
	r         *Reconciler
	clock     *testclock.FakeClock
	workloads []*simWorkload
	badNode   string
	// forget makes the manager lose the failure histories, to test the invariants themselves.
	forget bool
	// blind hides memory limits from the manager, for the same purpose.
	blind  bool
	faults []simEvidence
	broken []string // invariants that were violated
}

// simEvidence is a failure that happened on a node.
type simEvidence struct {
	node, workload, pod string
	at                  time.Time
}

func newSimulation(t *testing.T, seed int64, config settings.Rescheduling) *simulation {
	s := &simulation{T: t, simCluster: newSimCluster(seed, 12), config: config, clock: testclock.NewFakeClock(noon)}
	s.evicted = func(pod *corev1.Pod) {
		w := s.workloadOf(pod)
		w.moves = append(w.moves, simMove{s.now, pod.Spec.NodeName})
	}
	period := func() time.Duration { return time.Duration(15+s.rand.Intn(300)) * time.Minute }
	s.workloads = []*simWorkload{
		{name: "healthy", fault: simHealthy, kind: "StatefulSet", replicas: 4, retries: 3},
		{name: "fleet", fault: simHealthy, kind: "ReplicaSet", replicas: 6, retries: 5},
		{name: "broken", fault: simBroken, kind: "StatefulSet", replicas: 4, retries: 3},
		{name: "broken-fleet", fault: simBroken, kind: "ReplicaSet", replicas: 4, retries: 3},
		{name: "leak", fault: simLeak, kind: "StatefulSet", replicas: 4, retries: 3, period: period()},
		{name: "leak-fleet", fault: simLeak, kind: "ReplicaSet", replicas: 4, retries: 3, period: period()},
		{name: "unlimited", fault: simUnlimited, kind: "StatefulSet", replicas: 4, retries: 3, period: period()},
		{name: "worn-out", fault: simLateCrash, kind: "StatefulSet", replicas: 3, retries: 1 + s.rand.Intn(4), period: period()},
		{name: "worn-out-fleet", fault: simLateCrash, kind: "ReplicaSet", replicas: 3, retries: 1 + s.rand.Intn(4), period: period()},
		{name: "large", fault: simRuntime, kind: "ReplicaSet", replicas: 30, retries: 20},
		{name: "rejected", fault: simRejected, kind: "StatefulSet", replicas: 2, retries: 3},
	}
	s.badNode = s.nodes[s.rand.Intn(len(s.nodes))].Name
	for _, w := range s.workloads {
		w.owner = workload(w.name)
		w.owner.Annotations = map[string]string{memory.RetriesAnnotation: fmt.Sprint(w.retries)}
		w.owner.ResourceVersion = s.nextVersion()
		w.owner.SetGroupVersionKind(schemaKind(w.kind))
		s.owners[w.owner.UID] = w.owner
	}
	s.restart()
	return s
}

func (s *simulation) restart() {
	s.r = New(Options{
		Client: s.simCluster, Live: s.simCluster, Nodes: nodes.NewLister(s.simCluster, s.clock), Owners: s.simCluster, Ledger: owners.NewLedger(), Recorder: heard{},
		Registry: prometheus.NewRegistry(), Clock: s.clock, Config: s.config,
	})
}

func (s *simulation) workloadOf(pod *corev1.Pod) *simWorkload {
	i := slices.IndexFunc(s.workloads, func(w *simWorkload) bool { return w.owner.UID == owners.ControllerUID(pod) })
	return s.workloads[i]
}

// run runs the simulation for a duration.
func (s *simulation) run(length time.Duration) *simulation {
	for s.now.Before(noon.Add(length)) {
		s.now = s.now.Add(simTick)
		s.clock.SetTime(s.now)
		if s.rand.Intn(120) == 0 {
			s.restart()
		}
		for _, w := range s.workloads {
			s.controllerOf(w)
		}
		for _, pod := range s.sorted() {
			s.kubelet(pod)
		}
		s.reconcile()
		if s.forget && s.rand.Intn(60) == 0 {
			for _, w := range s.workloads {
				delete(w.owner.Annotations, memory.Annotation)
				delete(w.owner.Annotations, memory.WorkloadAnnotation)
				w.owner.ResourceVersion = s.nextVersion()
			}
			s.restart()
		}
		s.checkTaints()
		s.pardon()
	}
	s.checkMoves()
	return s
}

// reconcile reconciles all unhealthy pods, and from time to time the healthy ones.
func (s *simulation) reconcile() {
	resync := s.now.Sub(noon)%(10*simTick) == 0
	for _, pod := range s.sorted() {
		if !resync && !readySince(pod).IsZero() && pod.Status.ContainerStatuses[0].RestartCount == 0 {
			continue
		}
		if s.blind {
			pod = pod.DeepCopy()
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		}
		if _, err := s.r.Reconcile(s.Context(), pod.DeepCopy()); err != nil {
			s.Fatal(err)
		}
	}
}

// controllerOf simulates both the scheduler and the controller of a workload, which replaces pods that are gone or have failed.
func (s *simulation) controllerOf(w *simWorkload) {
	have := map[string]bool{}
	for _, pod := range s.sorted() {
		if owners.ControllerUID(pod) != w.owner.UID {
			continue
		}
		if pod.Status.Phase == corev1.PodFailed && s.now.Sub(pod.Status.StartTime.Time) >= 2*simTick {
			delete(s.pods, pod.Name) // a StatefulSet deletes it immediately; for other owners it is garbage-collected
			continue
		}
		if pod.Status.Phase != corev1.PodFailed || w.kind == "StatefulSet" {
			have[pod.Name] = true
		}
	}
	for i := 0; len(have) < w.replicas; i++ {
		name := fmt.Sprintf("%s-%d", w.name, i)
		if w.kind != "StatefulSet" {
			w.made++
			name = fmt.Sprintf("%s-%d", w.name, w.made)
		}
		if !have[name] {
			have[name] = true
			s.create(w, name)
		}
	}
}

func (s *simulation) create(w *simWorkload, name string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(fmt.Sprint(name, "/", s.nextVersion())), ResourceVersion: s.nextVersion(),
			CreationTimestamp: metav1.NewTime(s.now), Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec:   corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: ptr.To(metav1.NewTime(s.now))},
	}
	if w.fault == simLeak {
		pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	}
	owned(w.owner)(pod)
	excluded := memory.Read(w.owner.Annotations).Exclusions(memory.MaxHosts, owners.Slot(pod), s.now, nil)
	if len(excluded) > 0 {
		pod.Annotations[memory.HostsAnnotation] = memory.FormatHosts(excluded)
	}
	var open []string
	for _, node := range s.nodes {
		if !slices.Contains(excluded, node.Name) && !isTainted(node) {
			open = append(open, node.Name)
		}
	}
	pod.Spec.NodeName = open[s.rand.Intn(len(open))]
	s.pods[name] = pod
}

// fails reports whether and how the pod's container fails in its next run, and after what time.
func (s *simulation) fails(w *simWorkload, pod *corev1.Pod) (after time.Duration, reason string, fails bool) {
	age := s.now.Sub(pod.CreationTimestamp.Time)
	switch {
	case w.fault == simBroken && (pod.Name == w.name+"-0" || w.kind != "StatefulSet" && s.isOldest(w, pod)):
		return 0, "Error", true
	case w.fault == simLeak || w.fault == simUnlimited:
		return w.period + time.Duration(len(pod.UID)+int(pod.Name[len(pod.Name)-1]))%4*20*time.Minute, "OOMKilled", true
	case w.fault == simLateCrash && age > w.period:
		return 0, "Error", true
	}
	return 0, "", false
}

// isOldest reports whether the pod is the oldest replica, which processes the bad shard of a workload that stays broken.
func (s *simulation) isOldest(w *simWorkload, pod *corev1.Pod) bool {
	for _, other := range s.pods {
		if owners.ControllerUID(other) == w.owner.UID && len(other.Name) <= len(pod.Name) && other.Name < pod.Name && other.Labels["shard"] == "bad" {
			return false
		}
	}
	taken := slices.ContainsFunc(s.sorted(), func(o *corev1.Pod) bool {
		return o != pod && owners.ControllerUID(o) == w.owner.UID && o.Labels["shard"] == "bad"
	})
	if !taken {
		pod.Labels["shard"] = "bad"
	}
	return !taken
}

// kubelet advances a pod by one step.
func (s *simulation) kubelet(pod *corev1.Pod) {
	w := s.workloadOf(pod)
	if pod.Status.Phase == corev1.PodFailed {
		return
	}
	if pod.Status.Phase == corev1.PodPending {
		if w.fault == simRejected || pod.Spec.NodeName == s.badNode {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", StartTime: ptr.To(metav1.NewTime(s.now))}
			s.faults = append(s.faults, simEvidence{pod.Spec.NodeName, w.name, string(pod.UID), s.now})
			return
		}
		if w.fault == simRuntime && s.runtimeIsBroken(pod.Spec.NodeName) {
			s.cannotStart(pod)
			return
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: running(s.now)}}
		s.setReady(pod, true)
		return
	}
	if w.fault == simRuntime && s.runtimeIsBroken(pod.Spec.NodeName) {
		s.cannotStart(pod)
		return
	}
	c := &pod.Status.ContainerStatuses[0]
	if started := c.State.Running; started != nil {
		if after, reason, fails := s.fails(w, pod); fails && s.now.Sub(started.StartedAt.Time) >= after {
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: 137, FinishedAt: metav1.NewTime(s.now)}
			c.RestartCount++
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			s.setReady(pod, false)
			s.faults = append(s.faults, simEvidence{pod.Spec.NodeName, w.name, string(pod.UID), s.now})
		}
		return
	}
	if backoff := min(5*time.Minute, time.Duration(c.RestartCount)*time.Minute); s.now.Sub(c.LastTerminationState.Terminated.FinishedAt.Time) >= backoff {
		c.State = running(s.now)
		s.setReady(pod, true)
	}
}

func (s *simulation) runtimeIsBroken(node string) bool {
	return s.now.Sub(noon) >= simSettled/2 && slices.Contains([]string{"n0", "n1", "n2"}, node)
}

func (s *simulation) cannotStart(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError"}},
	}}
	s.setReady(pod, false)
}

func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}

func (s *simulation) setReady(pod *corev1.Pod, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(s.now)}}
}

func (s *simulation) violated(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

// checkMoves checks the limits on moves. If no move expires within the day, no workload exceeds its retries, and a workload at
// fault is not moved after simSettled. Otherwise its history limits a workload to two moves per replica. No workload is moved faster than
// its limit allows, and faults that may be caused by the node lead to at least one move.
func (s *simulation) checkMoves() {
	limit := settings.Default().Limits.Workload
	for _, w := range s.workloads {
		returns := s.config.Stabilization.Duration < simDay
		if len(w.moves) > w.retries && !returns {
			s.violated("%s was moved %d times with schedulingRetries %d", w.name, len(w.moves), w.retries)
		}
		if len(w.moves) > max(w.retries, 2*w.replicas) {
			s.violated("%s was moved %d times, more than twice for each of %d replicas", w.name, len(w.moves), w.replicas)
		}
		for i, m := range w.moves {
			if w.fault != simHealthy && !returns && m.at.After(noon.Add(simSettled)) {
				s.violated("%s was still moved at %s", w.name, m.at.Sub(noon))
			}
			if i >= limit.Burst && m.at.Sub(w.moves[i-limit.Burst].at) < limit.Every.Duration {
				s.violated("%s was moved more than %d times within %s", w.name, limit.Burst, limit.Every.Duration)
			}
		}
		if slices.Contains([]simFault{simBroken, simRuntime}, w.fault) && len(w.moves) == 0 {
			s.violated("%s was never moved", w.name)
		}
		if w.fault == simLeak && len(w.moves) > 0 {
			s.violated("%s was moved %d times for exceeding its own memory limit", w.name, len(w.moves))
		}
	}
}

// checkTaints checks that a node is tainted only after enough pods of enough workloads have failed on it.
func (s *simulation) checkTaints() {
	promised := settings.Default().Blame
	for _, node := range s.nodes {
		if !isTainted(node) || node.Labels["checked"] == node.Annotations[TaintUntil] {
			continue
		}
		workloads, pods := map[string]bool{}, map[string]bool{}
		for _, f := range s.faults {
			if f.node == node.Name && s.now.Sub(f.at) <= promised.Window.Duration+simTick {
				workloads[f.workload], pods[f.pod] = true, true
			}
		}
		if len(workloads) < promised.MinWorkloads || len(pods) < promised.MinPods {
			s.violated("node %s was tainted for %d pods of %d workloads", node.Name, len(pods), len(workloads))
		}
		node.Labels = map[string]string{"checked": node.Annotations[TaintUntil]}
	}
}

// pardon removes expired taints.
func (s *simulation) pardon() {
	for _, node := range s.nodes {
		if until, err := time.Parse(time.RFC3339, node.Annotations[TaintUntil]); err == nil && !s.now.Before(until) {
			node.Spec.Taints, node.Annotations = nil, nil
		}
	}
}

func tainting() settings.Rescheduling {
	config := settings.Default()
	config.Blame.Taint = true
	return config
}

func TestSimulatedDay(t *testing.T) {
	periods := []time.Duration{simDay, 10 * time.Minute, 2 * time.Hour}
	for seed := range int64(simSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			config := tainting()
			config.Stabilization = metav1.Duration{Duration: periods[int(seed)%len(periods)]}
			s := newSimulation(t, seed, config).run(simDay)
			for _, violation := range s.broken {
				t.Error(violation)
			}
		})
	}
}

// The invariants can be violated: each mutant violates one of them.
func TestMutantsViolateInvariants(t *testing.T) {
	unlimited := tainting()
	unlimited.Limits, unlimited.Breaker, unlimited.Stabilization = settings.Limits{}, settings.Breaker{}, metav1.Duration{Duration: simDay}
	alone := tainting()
	alone.Blame.MinWorkloads, alone.Blame.MinPods, alone.Blame.Threshold, alone.Blame.MaxShare = 1, 1, 1, 50
	never := tainting()
	never.DryRun = true
	for name, c := range map[string]struct {
		config settings.Rescheduling
		mutate func(*simulation)
		length time.Duration
		want   []string
	}{
		"memory is lost": {
			tainting(), func(s *simulation) { s.forget = true }, simSettled + 2*time.Hour, []string{"with schedulingRetries", "was still moved at"}},
		"one workload causes a taint": {alone, nil, time.Hour, []string{"was tainted for"}},
		"no pod is ever moved":        {never, nil, simSettled, []string{"was never moved"}},
		"memory limit is ignored":     {tainting(), func(s *simulation) { s.blind = true }, simSettled, []string{"its own memory limit"}},
		"moves are not limited":       {unlimited, nil, simSettled, []string{"more than 5 times within"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSimulation(t, 1, c.config)
			if c.mutate != nil {
				c.mutate(s)
			}
			s.run(c.length)
			for _, want := range c.want {
				if !slices.ContainsFunc(s.broken, func(violation string) bool { return strings.Contains(violation, want) }) {
					t.Errorf("no invariant detected that it %s: %q", want, s.broken)
				}
			}
		})
	}
}
