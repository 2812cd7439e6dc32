package policy

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
)

var lives = flag.Int("lives", 2000, "number of life cycles that TestRandomLifeCyclesEnd simulates")

// part is a wrapped object with one pod in the simulated cluster.
type part struct {
	there, terminating, blocked bool // blocked: a finalizer prevents the deletion
	state                       health.State
	pod                         corev1.PodPhase // empty if there is no pod
	podBlocked                  bool
	created, succeeded          bool // according to the status
}

// life is a workload in a simulated cluster, with its last written status.
type life struct {
	random     *rand.Rand
	now        time.Time
	facts      Facts // phase, clocks and counts as written
	conditions map[v1beta2.AppWrapperCondition]metav1.ConditionStatus
	parts      []part
	broken     bool // components cannot be created
	fatal      bool // creating them fails permanently
	evacuate   bool
	lost       bool // the pods' node is lost, so they must be deleted by force
	gone       bool // the AppWrapper itself is gone
	log        []string
	resets     []string
}

func (e End) label() string { return fmt.Sprintf("%s, evacuation %t", e.Reason, e.Evacuation) }

func newLife(seed uint64) *life {
	random := rand.New(rand.NewPCG(seed, 7))
	l := &life{random: random, now: time.Unix(1_000_000, 0), conditions: map[v1beta2.AppWrapperCondition]metav1.ConditionStatus{}}
	l.facts.Suspend = true
	p := &l.facts.Parameters
	p.FaultTolerance = settings.Default().FaultTolerance
	p.FailureGracePeriod.Duration = time.Duration(random.IntN(2)) * time.Minute
	p.SuccessTTL.Duration = time.Hour
	p.DeletionOnFailureGracePeriod.Duration = time.Duration(random.IntN(2)) * time.Hour
	l.parts, l.lost = make([]part, 1+random.IntN(3)), random.IntN(3) == 0
	return l
}

// look returns what the controller observes.
func (l *life) look() *Facts {
	f := l.facts
	f.Now = l.now
	f.Deployed = l.conditions[v1beta2.ResourcesDeployed] == metav1.ConditionTrue
	f.Ready = l.conditions[v1beta2.PodsReady] == metav1.ConditionTrue
	var list []*corev1.Pod
	for i, p := range l.parts {
		c := Component{Name: fmt.Sprintf("Job %d", i), Created: p.created, Succeeded: p.succeeded, Finishes: true, Pods: 1}
		if p.there {
			c.Presence, c.Report.State = Present, p.state
			if p.terminating {
				c.Presence = Terminating
			}
		}
		f.Components = append(f.Components, c)
		if p.pod != "" {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Labels: map[string]string{v1beta2.ComponentLabel: fmt.Sprint(i)}}}
			pod.Status.Phase = p.pod
			list = append(list, pod)
		}
		if Removing(&f) {
			if p.there {
				f.Remains = append(f.Remains, Remains{Name: c.Name})
			}
			if p.pod != "" {
				f.Remains = append(f.Remains, Remains{Name: fmt.Sprint("pod-", i), Pod: true})
			}
		}
	}
	f.Pods = pods.Summarize(list)
	if l.evacuate && f.Phase == v1beta2.Running && len(list) > 0 {
		f.Evacuation = &Evacuation{Nodes: []string{"node"}, Message: "bad"}
	}
	return &f
}

// reconcile observes, decides, acts and writes. A crash happens before the action, or between the action and the write.
func (l *life) reconcile(t *testing.T, crash int) {
	f := l.look()
	d := Decide(f)
	if crash == 1 {
		return
	}
	if d.Do == Create {
		d = AfterCreate(f, l.create(t, f))
	} else {
		l.act(d.Do)
	}
	if crash == 2 {
		return
	}
	l.write(t, f, d)
}

func (l *life) create(t *testing.T, f *Facts) Outcome {
	if f.Phase != v1beta2.Resuming || !f.Deployed || !f.Finalizer {
		t.Fatalf("objects are created in phase %q, deployed %t, finalizer %t", f.Phase, f.Deployed, f.Finalizer)
	}
	for i := range l.parts {
		p := &l.parts[i]
		switch {
		case l.fatal:
			return Outcome{Err: "never", Fatal: true}
		case l.broken && !p.there:
			return Outcome{Err: "not now"}
		case !p.there:
			*p = part{there: true, state: health.Active, pod: corev1.PodPending}
		case p.terminating:
			return Outcome{Err: "still there"}
		}
	}
	return Outcome{}
}

func (l *life) act(do Action) {
	switch do {
	case AddFinalizer:
		l.facts.Finalizer = true
	case Release:
		l.facts.Finalizer, l.gone = false, l.facts.Deleted
	}
	for i := range l.parts {
		p := &l.parts[i]
		switch do {
		case Delete, ForceComponents:
			p.terminating = p.there
		case ForcePods:
			if p.pod != "" && !p.podBlocked {
				p.pod = ""
			}
		}
	}
}

func (l *life) remains() []string {
	var left []string
	for i, p := range l.parts {
		if p.there {
			left = append(left, fmt.Sprint("object ", i))
		}
		if p.pod != "" {
			left = append(left, fmt.Sprint("pod ", i))
		}
	}
	return left
}

// write writes the decision and checks the invariants at that moment.
func (l *life) write(t *testing.T, f *Facts, d *Decision) {
	if d.Do == Release {
		if left := l.remains(); len(left) > 0 && f.Phase != v1beta2.Succeeded {
			t.Fatalf("the finalizer is removed while %v remain", left)
		}
		return
	}
	for _, c := range d.Conditions {
		kind := v1beta2.AppWrapperCondition(c.Type)
		if c.Status == metav1.ConditionFalse && l.conditions[kind] == metav1.ConditionTrue {
			left := l.remains()
			if kind == v1beta2.ResourcesDeployed && len(left) > 0 {
				t.Fatalf("ResourcesDeployed turns False while %v remain", left)
			}
			if kind == v1beta2.QuotaReserved && len(left) > 0 && d.Next != v1beta2.Succeeded {
				t.Fatalf("the quota is released in phase %q while %v remain", d.Next, left)
			}
		}
		l.conditions[kind] = c.Status
	}
	if d.Next == v1beta2.Resetting && d.Ends != nil {
		l.resets = append(l.resets, d.Ends.label())
	}
	if d.Retries > 3 {
		t.Fatalf("%d resets", d.Retries)
	}
	if f.Phase == v1beta2.Resuming && d.Next == v1beta2.Running {
		for i := range l.parts {
			l.parts[i].created = true
		}
	}
	if d.Next != l.facts.Phase {
		l.log = append(l.log, string(d.Next))
	}
	if d.Next == v1beta2.Suspended || (d.Next == v1beta2.Resetting && !f.Deployed) || d.Next == v1beta2.Resuming {
		for i := range l.parts {
			if !l.parts[i].there {
				l.parts[i] = part{}
			}
		}
	}
	l.facts.Phase, l.facts.Clocks, l.facts.Retries, l.facts.Evacuations = d.Next, d.Clocks, d.Retries, d.Evacuations
}

// happen simulates an event outside the controller. Once the test lets the life cycle end, only ordinary events happen.
func (l *life) happen(kind int) {
	p := &l.parts[l.random.IntN(len(l.parts))]
	running := p.there && !p.terminating
	switch kind {
	case 0: // the garbage collector
		if p.terminating && !p.blocked {
			p.there, p.terminating = false, false
		}
	case 1: // the kubelet stops a pod whose object is gone
		if !p.there && !p.podBlocked && !l.lost {
			p.pod = ""
		}
	case 2:
		if p.pod == corev1.PodPending {
			p.pod = corev1.PodRunning
		}
	case 3, 4:
		l.now = l.now.Add(time.Duration(l.random.IntN(300)) * time.Second)
	case 5: // the work is completed
		if running && p.pod == corev1.PodRunning && l.facts.Phase == v1beta2.Running {
			p.pod, p.state, p.succeeded = corev1.PodSucceeded, health.Complete, true
		}
	case 6:
		if running && p.pod == corev1.PodRunning {
			p.pod = corev1.PodFailed
		}
	case 7:
		if running && l.random.IntN(4) == 0 {
			p.state = health.Failed
		}
	case 8: // someone deletes a component
		if running && l.random.IntN(8) == 0 {
			p.terminating = true
		}
	case 9:
		l.facts.Suspend = !l.facts.Suspend
	case 10:
		l.facts.Deleted = l.facts.Deleted || l.random.IntN(20) == 0
	case 11:
		p.blocked, p.podBlocked = l.random.IntN(2) == 0, l.random.IntN(2) == 0
	case 12:
		l.broken = l.random.IntN(2) == 0
	case 13:
		l.evacuate = l.random.IntN(3) == 0
	case 14:
		l.fatal = l.random.IntN(30) == 0
	case 15: // a pod is lost, and its object replaces it
		if running && p.pod != "" {
			p.pod = corev1.PodPending
		}
	}
}

const (
	ordinary = 6 // events that every life cycle needs to end
	all      = 16
)

// TestRandomLifeCyclesEnd simulates life cycles with events in any order and with crashes, and then lets only ordinary
// events happen. Each ends as Succeeded, Failed, Suspended or deleted. Invariants are checked at each write.
func TestRandomLifeCyclesEnd(t *testing.T) {
	ends, resets := map[string]int{}, map[string]bool{}
	for seed := range uint64(*lives) {
		l := newLife(seed)
		for range 30 + l.random.IntN(300) {
			if l.random.IntN(2) == 0 {
				l.happen(l.random.IntN(all))
			} else {
				l.reconcile(t, l.random.IntN(6))
			}
			if t.Failed() || l.gone {
				break
			}
		}
		l.broken, l.evacuate = false, false
		for i := range l.parts {
			l.parts[i].blocked, l.parts[i].podBlocked = false, false
		}
		end := ""
		for range 4000 {
			if end = l.end(); end != "" {
				break
			}
			l.happen(l.random.IntN(ordinary))
			l.reconcile(t, 0)
		}
		if end == "" {
			t.Fatalf("seed %d: the life cycle does not end: phase %q, suspend %t, deployed %s, %v remain; phases so far %s", seed, l.facts.Phase, l.facts.Suspend,
				l.conditions[v1beta2.ResourcesDeployed], l.remains(), strings.Join(l.log, " "))
		}
		ends[end]++
		for _, reset := range l.resets {
			resets[reset] = true
		}
	}
	for _, end := range []string{"Succeeded", "Failed", "Suspended", "deleted"} {
		if ends[end] == 0 {
			t.Errorf("no life cycle ended as %s: %v", end, ends)
		}
	}
	known := map[string]bool{}
	for _, end := range Resets {
		known[end.label()] = true
	}
	if diff := cmp.Diff(known, resets); diff != "" {
		t.Errorf("resets (-known +simulated): %s", diff)
	}
	t.Log(ends)
}

// end returns the name of the final state, or "" if the life has not ended. A finished workload has released its quota
// and, eventually, everything else.
func (l *life) end() string {
	switch {
	case l.facts.Deleted:
		if l.gone || !l.facts.Finalizer {
			return "deleted"
		}
		return ""
	case !slices.Contains([]v1beta2.AppWrapperPhase{v1beta2.Succeeded, v1beta2.Failed, v1beta2.Suspended}, l.facts.Phase):
		return ""
	case l.facts.Phase == v1beta2.Suspended && !l.facts.Suspend:
		return ""
	case l.conditions[v1beta2.QuotaReserved] == metav1.ConditionTrue || l.conditions[v1beta2.ResourcesDeployed] == metav1.ConditionTrue:
		return ""
	}
	return string(l.facts.Phase)
}
