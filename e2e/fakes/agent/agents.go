package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Kubelet is the part of the simulated nodes that the agents use.
type Kubelet interface {
	Exit(pod types.NamespacedName, container string, code int32) error
	RemoveRecord(pod types.NamespacedName, container string) error
}

// Driver is how a worker is restarted.
type Driver string

// Drivers.
const (
	None     Driver = ""
	Exec     Driver = "exec"
	CRI      Driver = "cri"
	Upstream Driver = "upstream" // restartStrategy InPlaceRestart of the upstream JobSet controller
)

// Worker is one worker in one pod.
type Worker struct {
	JobSet string // its name
	Group  string // its UID
	Slot   string // jobset-replicatedjob-job-index, of the pod
	Driver Driver

	container string
	anySlot   bool   // the worker may run in a slot other than that of its pod
	waits     bool   // the pod's slot was given to another pod
	first     string // first slot of the replicatedJob
}

// in returns the worker in another slot.
func (w Worker) in(slot string) Worker {
	w.Slot = slot
	return w
}

// Options configure how the agents connect to the store and to the API server.
type Options struct {
	// Store returns the options that a group's agents use to connect to the store. It is called once for each group,
	// with one of its pods.
	Store func(*corev1.Pod) (valkey.Options, error)
	// Share is how many agents share one connection for calls. With the default of 1, each has its own, as real agents
	// do. Each agent has its own subscription.
	Share  int
	Timing Timing
	// Client makes the API calls of upstream agents.
	Client client.WithWatch
}

// Agents simulates the agents of all pods on simulated nodes. Its methods are safe for concurrent use. The fake kubelet
// calls Observe and Ended.
type Agents struct {
	options Options
	timing  Timing
	kubelet Kubelet
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	workers map[types.UID]*posted // by UID of the pod
	lines   lines
	watches map[string]*Stopwatch

	upstream *upstream
}

// posted is a worker whose pod has started.
type posted struct {
	Worker
	works string // slot in which its program runs; "" before the first start under a supervisor
	pod   types.NamespacedName
	since time.Time
	agent *agent // nil without a driver
}

// New returns an empty Agents. Agents are added as their pods start. Call Attach before the first pod starts.
func New(o Options) *Agents {
	o.Share = max(o.Share, 1)
	ctx, stop := context.WithCancel(context.Background())
	c := &Agents{
		options: o, timing: o.Timing, ctx: ctx, stop: stop, workers: map[types.UID]*posted{}, watches: map[string]*Stopwatch{},
		lines: lines{store: o.Store, share: o.Share, options: map[string]valkey.Options{}, open: map[string]*line{}},
	}
	c.upstream = &upstream{all: c, client: o.Client, agents: map[types.UID]*upstreamAgent{}, status: map[string]v1alpha2.JobSetStatus{}}
	return c
}

// Attach sets the nodes on which the pods run.
func (c *Agents) Attach(k Kubelet) { c.kubelet = k }

// Close ends all agents and waits for them.
func (c *Agents) Close() {
	c.stop()
	c.running.Wait()
}

// anySlotVariable is set in pods whose workers can run in any slot.
const anySlotVariable = "HOLDFAST_FIRST_JOB_GLOBAL_INDEX"

// workerOf returns the worker of a pod. It returns false for a pod that does not belong to a JobSet.
func workerOf(pod *corev1.Pod) (Worker, bool) {
	a := pod.Annotations
	stage := a[v1alpha2.JobSetNameKey] + "-" + a[v1alpha2.ReplicatedJobNameKey]
	w := Worker{
		JobSet: a[v1alpha2.JobSetNameKey], Group: a[v1alpha2.JobSetUIDKey],
		Slot:  stage + "-" + a[v1alpha2.JobIndexKey] + "-" + a[batchv1.JobCompletionIndexAnnotation],
		waits: a[v1alpha2.SlotKey] == v1alpha2.SlotWaits, first: stage + "-0-0",
	}
	if w.JobSet == "" || len(pod.Spec.Containers) == 0 {
		return w, false
	}
	worker := pod.Spec.Containers[0]
	w.container = worker.Name
	for _, init := range pod.Spec.InitContainers {
		if init.RestartPolicy != nil && *init.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			w.Driver = CRI
		}
	}
	if len(worker.Command) > 0 {
		switch path.Base(worker.Command[0]) {
		case "holdfast-exec":
			w.Driver = Exec
		case UpstreamProgram:
			w.Driver = Upstream
		}
	}
	w.anySlot = slices.ContainsFunc(worker.Env, func(v corev1.EnvVar) bool { return v.Name == anySlotVariable })
	return w, true
}

// Observe implements kubelet.Options.Observe.
func (c *Agents) Observe(pod *corev1.Pod, start kubelet.Started) {
	w, ok := workerOf(pod)
	if !ok || start.Container != w.container {
		return
	}
	c.mu.Lock()
	p := c.workers[pod.UID]
	first := p == nil
	if first {
		p = &posted{Worker: w, pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, since: time.Now()}
		if w.Driver != Exec {
			p.works = w.Slot
		}
		c.workers[pod.UID] = p
	}
	c.mu.Unlock()
	switch {
	case w.Driver == None:
		c.began(w)
	case w.Driver == Upstream:
		c.upstream.started(w, pod)
	case first:
		c.join(p, pod)
	default:
		if a := c.agentOf(p); a != nil {
			a.later(c.ctx, c.timing.Event.Draw(), func() { a.live(true) })
		}
	}
}

func (c *Agents) agentOf(p *posted) *agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.agent
}

// join starts a pod's agent. A group whose agents cannot reach the store never forms.
func (c *Agents) join(p *posted, pod *corev1.Pod) {
	made, _ := strconv.ParseInt(pod.Annotations[epoch.Annotation], 10, 64) // 0 (unknown) without the annotation
	line, err := c.lines.take(p.Group, pod)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	a := c.newAgent(p.Worker, pod, made, line)
	ctx, stop := context.WithCancel(c.ctx)
	a.stop = stop
	c.mu.Lock()
	p.agent = a
	c.mu.Unlock()
	c.running.Go(func() {
		defer c.lines.giveBack(a.line)
		a.run(ctx)
	})
}

// Ended implements kubelet.Options.Ended.
func (c *Agents) Ended(pod *corev1.Pod) {
	c.mu.Lock()
	p := c.workers[pod.UID]
	delete(c.workers, pod.UID)
	if p == nil {
		c.mu.Unlock()
		return
	}
	if s := c.watches[p.JobSet]; s != nil {
		s.podEnded()
	}
	c.mu.Unlock()
	c.upstream.podEnded(pod.UID)
	if a := c.agentOf(p); a != nil {
		go a.hand(c.ctx, a.leave)
	}
}

// ErrNobody means that there is no such worker.
var ErrNobody = errors.New("there is no such worker")

// Fail ends a worker's program, as kill -9 does, and returns the time.
func (c *Agents) Fail(jobSet, slot string) (time.Time, error) {
	p := c.find(jobSet, slot)
	if p == nil {
		return time.Time{}, fmt.Errorf("%s: %w", slot, ErrNobody)
	}
	at := time.Now()
	if p.agent == nil {
		time.Sleep(c.timing.Told.Draw())
		return at, c.kubelet.Exit(p.pod, p.container, exitKilled)
	}
	p.agent.hand(c.ctx, func() {
		if w := p.agent.living(); w != nil {
			p.agent.die(c.ctx, w.ID, exitKilled, at, func() {})
		}
	})
	return at, nil
}

// Pod returns a worker's pod.
func (c *Agents) Pod(jobSet, slot string) (types.NamespacedName, error) {
	if p := c.find(jobSet, slot); p != nil {
		return p.pod, nil
	}
	return types.NamespacedName{}, fmt.Errorf("%s: %w", slot, ErrNobody)
}

// find returns the worker of the newest pod in a slot. An older pod in the slot may be about to end.
func (c *Agents) find(jobSet, slot string) (found *posted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.workers {
		if p.JobSet == jobSet && p.works == slot && (found == nil || p.since.After(found.since)) {
			found = p
		}
	}
	return found
}

// works records the slot in which a pod's program runs.
func (c *Agents) works(pod, slot string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.workers[types.UID(pod)]; p != nil {
		p.works = slot
	}
}

// Waiting returns how many agents of a JobSet have not started a program. In a running group these are the spares.
func (c *Agents) Waiting(jobSet string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.workers {
		if p.JobSet == jobSet && p.agent != nil && p.works == "" {
			n++
		}
	}
	return n
}

// Agents returns the number of agents.
func (c *Agents) Agents() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.workers {
		if p.agent != nil {
			n++
		}
	}
	return n
}
