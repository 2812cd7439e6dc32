// Package ladder decides which programs handle a fault of a pod, in which order and at which recovery level, so that each fault is handled
// once and by the cheapest program that can. It depends only on the owners of the pod, from its controller up to the root, and on their
// annotations. It does not check whether a program is installed: if a program does not react, the next level takes over after its own grace
// period. It is pure.
//
//	fault                     first                          then                              then
//	process exits or hangs    1 orchestrator (exec)          5 recreation, after the timeout   6 AppWrapper, if the JobSet failed
//	container dies            1 orchestrator, after the kubelet restarted it; 2 with a sidecar
//	pod is lost               1 orchestrator                 5                                 6
//	pod cannot run on node    4 rescheduler                  5 or the pod's controller         6
//	node is drained           4 pods start on other nodes, the group restarts once
//	restart timed out         5 jobset-controller            6
//	maxRestarts exceeded      6 AppWrapper                   Failed
//	node is marked EVICT      6 AppWrapper; without one nobody reads the mark
//
// Without in-place restarts, the pod's own controller replaces levels 1 and 2. An ElasticJob with in-place restarts uses level 1 when a
// process ends, and level 3 for all other faults. Source: DESIGN, "The ladder".
package ladder

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Fault is a kind of failure as it is first detected.
type Fault string

// Faults.
const (
	ProcessEnded  Fault = "ProcessEnded"  // a worker exits, is killed, or hangs
	ContainerDied Fault = "ContainerDied" // PID 1 has ended, and the kubelet restarts the container
	PodLost       Fault = "PodLost"       // deleted, evicted or failed
	CannotRun     Fault = "CannotRun"     // the pod repeatedly fails because of its node
	Drained       Fault = "Drained"       // the node is being drained
	TimedOut      Fault = "TimedOut"      // a restart of the group timed out
	BudgetSpent   Fault = "BudgetSpent"   // maxRestarts is exceeded
	NodeBad       Fault = "NodeBad"       // the node is marked EVICT
)

// Faults lists all faults.
var Faults = []Fault{ProcessEnded, ContainerDied, PodLost, CannotRun, Drained, TimedOut, BudgetSpent, NodeBad}

// Owner is an owner of a pod.
type Owner struct {
	Group, Kind, Name, UID string
	Annotations            map[string]string
}

// Chain lists the owners of a pod from its controller up to the root.
type Chain []Owner

// Names of published kinds and annotations.
const (
	jobSetGroup     = "jobset.x-k8s.io"
	appWrapperGroup = "workload.codeflare.dev"
	elasticGroup    = "elastic.pytorch.org"

	inPlaceTimeout = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	inPlaceDriver  = "holdfast.dev/inplace-driver"
	driverSidecar  = "cri"
	driverNone     = "none"
	retries        = "schedulingRetries"
)

// Find returns the owner of a kind, or nil.
func (c Chain) Find(group, kind string) *Owner {
	for i := range c {
		if c[i].Group == group && c[i].Kind == kind {
			return &c[i]
		}
	}
	return nil
}

// JobSet returns the JobSet that owns the pod, or nil.
func (c Chain) JobSet() *Owner { return c.Find(jobSetGroup, "JobSet") }

// AppWrapper returns the AppWrapper that owns the pod, or nil.
func (c Chain) AppWrapper() *Owner { return c.Find(appWrapperGroup, "AppWrapper") }

// ElasticJob returns the ElasticJob that owns the pod, or nil.
func (c Chain) ElasticJob() *Owner { return c.Find(elasticGroup, "ElasticJob") }

// InPlace returns the JobSet or ElasticJob if it has in-place restarts enabled, or nil.
func (c Chain) InPlace() *Owner {
	group := c.JobSet()
	switch {
	case group == nil: // only JobSets have a driver annotation
		group = c.ElasticJob()
	case group.Annotations[inPlaceDriver] == driverNone:
		return nil
	}
	if group == nil {
		return nil
	}
	if _, asked := group.Annotations[inPlaceTimeout]; !asked {
		return nil
	}
	return group
}

// Moved returns the owner nearest to the pod with the annotation schedulingRetries, or nil.
func (c Chain) Moved() *Owner {
	for i := range c {
		if _, asked := c[i].Annotations[retries]; asked {
			return &c[i]
		}
	}
	return nil
}

// Program handles faults.
type Program string

// Programs.
const (
	Orchestrator Program = "orchestrator"      // of jobset-controller, together with the agents
	JobSets      Program = "jobset-controller" // its manager
	Elastic      Program = "elastic-operator"
	Rescheduler  Program = "rescheduler"
	AppWrappers  Program = "appwrapper-controller"
	Owners       Program = "the pod's controller" // such as a Kubernetes Job
	Nobody       Program = ""
)

// Answer is one recovery of a fault.
type Answer struct {
	Level   int
	Program Program
	// Owner is the object on which the program announces the recovery and counts it; nil if the pod has no owner.
	Owner *Owner
}

// Answers returns the recoveries of a fault in order. Each is tried when the previous one has failed or timed out. After the last one the
// workload is Failed. The list is empty if no program is responsible, as for a pod without a controller.
func Answers(c Chain, f Fault) []Answer {
	tries := []Answer{c.inGroup(f), c.elsewhere(f), c.elastic(f), c.byController(f), c.recreated(f), c.reset()}
	if f == NodeBad {
		// All pods must leave the node at once, which only a reset does. If a lower level moved some of them first, the
		// group would restart twice. No other program reads the mark.
		tries = []Answer{c.reset()}
	}
	return slices.DeleteFunc(tries, func(a Answer) bool { return a.Program == Nobody })
}

// inGroup returns the restart of the group in its pods, after lost pods were replaced.
func (c Chain) inGroup(f Fault) Answer {
	group := c.InPlace()
	if group == nil || group == c.ElasticJob() && f != ProcessEnded { // the elastic operator handles lost pods
		return Answer{}
	}
	switch f {
	case ProcessEnded, ContainerDied, PodLost:
		level := recovering.LevelProcess
		if group == c.JobSet() && group.Annotations[inPlaceDriver] == driverSidecar {
			level = recovering.LevelGroup
		}
		return Answer{level, Orchestrator, group}
	case Drained: // the pods start on other nodes, then the group restarts once
		return Answer{recovering.LevelMove, Orchestrator, group}
	}
	return Answer{}
}

// elsewhere returns the move of a pod to another node if its workload asks for it. Pods can still run on a node that is marked bad, so that
// is not such a case.
func (c Chain) elsewhere(f Fault) Answer {
	if c.Moved() == nil || f != CannotRun {
		return Answer{}
	}
	return Answer{recovering.LevelMove, Rescheduler, c.Root()}
}

// elastic returns the replacement of a worker while the others continue, including one that did not restart in place in time.
func (c Chain) elastic(f Fault) Answer {
	job := c.ElasticJob()
	if job == nil || f == BudgetSpent || f == TimedOut && c.InPlace() == nil {
		return Answer{}
	}
	return Answer{recovering.LevelElastic, Elastic, job}
}

// byController returns the replacement of single pods by controllers without groups.
func (c Chain) byController(f Fault) Answer {
	if len(c) == 0 || c.InPlace() != nil || c.ElasticJob() != nil || c.JobSet() != nil || f == TimedOut || f == BudgetSpent {
		return Answer{}
	}
	return Answer{recovering.LevelMove, Owners, &c[0]}
}

// recreated returns the recreation of all Jobs of the group.
func (c Chain) recreated(f Fault) Answer {
	js := c.JobSet()
	if js == nil || f == BudgetSpent {
		return Answer{}
	}
	return Answer{recovering.LevelRecreate, JobSets, js}
}

func (c Chain) reset() Answer {
	aw := c.AppWrapper()
	if aw == nil {
		return Answer{}
	}
	return Answer{recovering.LevelReset, AppWrappers, aw}
}

// Root returns the topmost owner, or nil without owners.
func (c Chain) Root() *Owner {
	if len(c) == 0 {
		return nil
	}
	return &c[len(c)-1]
}
