// Package ladder says who answers which fault of a pod, and on which rung, so that a fault is answered once, by the cheapest program
// that can hold it, and not by nobody. It rests on what everybody can see: the pod's owners, from its own controller up to the root,
// and their annotations. It asks nobody whether a program is installed: the marks of users and programs on the objects say what is to
// be expected, and where a program is silent the next rung has its turn after its own grace period. It is pure.
//
//	fault                      first                        if that fails                      and then
//	a process exits, hangs     1 orchestrator (exec)        5 recreation, at the time-out      6 AppWrapper, once the JobSet has failed
//	a container dies           1 orchestrator, once the kubelet has started it again; 2 with a sidecar
//	a pod is lost              1 orchestrator, the slot     5                                  6
//	a pod cannot run there     4 rescheduler                5 or the pod's controller          6
//	a node is drained          4: its pods come up elsewhere, and the group restarts once
//	a restart is out of time   5 jobset-controller          6
//	maxRestarts are used up    6 AppWrapper                 Failed
//	a node is marked EVICT     6 AppWrapper; without one nobody: what the mark means for pods is read by none of the others
//
// Without in-place restarts the pod's own controller takes the place of rungs 1 and 2. An ElasticJob that asks for them has rung 1 when a
// process ends, and 3 for all else. Source: DESIGN, "The ladder".
package ladder

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Fault is what went wrong, as it is seen first.
type Fault string

// Faults.
const (
	ProcessEnded  Fault = "ProcessEnded"  // a worker exits, is killed, or makes no progress
	ContainerDied Fault = "ContainerDied" // its first process is gone: the kubelet starts the container again
	PodLost       Fault = "PodLost"       // deleted, evicted or failed, whoever did it
	CannotRun     Fault = "CannotRun"     // something about the node keeps the pod from running there, again and again
	Drained       Fault = "Drained"       // the node is to be emptied
	TimedOut      Fault = "TimedOut"      // a restart of the group did not end in time
	BudgetSpent   Fault = "BudgetSpent"   // maxRestarts are used up
	NodeBad       Fault = "NodeBad"       // the node is marked so that its pods have to leave: EVICT
)

// Faults lists them all.
var Faults = []Fault{ProcessEnded, ContainerDied, PodLost, CannotRun, Drained, TimedOut, BudgetSpent, NodeBad}

// Owner is an object that a pod belongs to.
type Owner struct {
	Group, Kind, Name, UID string
	Annotations            map[string]string
}

// Chain is from a pod's own controller up to the root, by controller references and their UIDs.
type Chain []Owner

// Names of kinds and annotations that the programs answer to. They are fixed by those who published them.
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

// Find returns the owner of a kind, nil if there is none.
func (c Chain) Find(group, kind string) *Owner {
	for i := range c {
		if c[i].Group == group && c[i].Kind == kind {
			return &c[i]
		}
	}
	return nil
}

// JobSet that the pod belongs to.
func (c Chain) JobSet() *Owner { return c.Find(jobSetGroup, "JobSet") }

// AppWrapper that the pod belongs to.
func (c Chain) AppWrapper() *Owner { return c.Find(appWrapperGroup, "AppWrapper") }

// ElasticJob that the pod belongs to.
func (c Chain) ElasticJob() *Owner { return c.Find(elasticGroup, "ElasticJob") }

// InPlace returns the JobSet or the ElasticJob if it asks for restarts in place.
func (c Chain) InPlace() *Owner {
	group := c.JobSet()
	switch {
	case group == nil: // the driver is chosen for JobSets only
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

// Moved returns the owner nearest to the pod that asks for its pods to be moved away from nodes on which they cannot run.
func (c Chain) Moved() *Owner {
	for i := range c {
		if _, asked := c[i].Annotations[retries]; asked {
			return &c[i]
		}
	}
	return nil
}

// Program answers faults.
type Program string

// Programs.
const (
	Orchestrator Program = "orchestrator"          // of jobset-controller, with the agents
	JobSets      Program = "jobset-controller"     // its manager
	Elastic      Program = "elastic-operator"      //
	Rescheduler  Program = "rescheduler"           //
	AppWrappers  Program = "appwrapper-controller" //
	Owners       Program = "the pod's controller"  // whatever Kubernetes has
	Nobody       Program = ""
)

// Answer is one try at a fault.
type Answer struct {
	Rung    int
	Program Program
	// Owner on which the program says that it is recovering, and counts; nil: the pod has none.
	Owner *Owner
}

// Answers are the tries at a fault of a pod, in their order: each is made when the one before has failed or run out of time. The last
// one ends with the workload Failed. None: nobody is responsible, as for a pod without a controller, or for a node that is marked while no
// AppWrapper is there to read the mark.
func Answers(c Chain, f Fault) []Answer {
	tries := []Answer{c.inGroup(f), c.elsewhere(f), c.elastic(f), c.byController(f), c.recreated(f), c.reset()}
	if f == NodeBad {
		// The mark wants all pods off the node at once, and the reset is the one who sees to it: no rung below moves some of
		// them first, for which the group would restart twice. Nobody else reads the mark.
		tries = []Answer{c.reset()}
	}
	return slices.DeleteFunc(tries, func(a Answer) bool { return a.Program == Nobody })
}

// inGroup: the group restarts in its pods, the lost ones of which are replaced first.
func (c Chain) inGroup(f Fault) Answer {
	group := c.InPlace()
	if group == nil || group == c.ElasticJob() && f != ProcessEnded { // what ends a pod of an ElasticJob is its own program's
		return Answer{}
	}
	switch f {
	case ProcessEnded, ContainerDied, PodLost:
		rung := recovering.RungProcess
		if group == c.JobSet() && group.Annotations[inPlaceDriver] == driverSidecar {
			rung = recovering.RungGroup
		}
		return Answer{rung, Orchestrator, group}
	case Drained: // the pods come up on other nodes; what remains is one restart of the group, which is theirs
		return Answer{recovering.RungMove, Orchestrator, group}
	}
	return Answer{}
}

// elsewhere: pods that ask for it leave nodes on which they cannot run. A node that is marked as bad is none of these: they may run there.
func (c Chain) elsewhere(f Fault) Answer {
	if c.Moved() == nil || f != CannotRun {
		return Answer{}
	}
	return Answer{recovering.RungMove, Rescheduler, c.Root()}
}

// elastic: the others go on while a worker is replaced, as one is that does not come back in place in time.
func (c Chain) elastic(f Fault) Answer {
	job := c.ElasticJob()
	if job == nil || f == BudgetSpent || f == TimedOut && c.InPlace() == nil {
		return Answer{}
	}
	return Answer{recovering.RungElastic, Elastic, job}
}

// byController: pods of controllers that know of no group are replaced one by one.
func (c Chain) byController(f Fault) Answer {
	if len(c) == 0 || c.InPlace() != nil || c.ElasticJob() != nil || c.JobSet() != nil || f == TimedOut || f == BudgetSpent {
		return Answer{}
	}
	return Answer{recovering.RungMove, Owners, &c[0]}
}

// recreated: all Jobs of the group are made anew, as long as the budget lasts.
func (c Chain) recreated(f Fault) Answer {
	js := c.JobSet()
	if js == nil || f == BudgetSpent {
		return Answer{}
	}
	return Answer{recovering.RungRecreate, JobSets, js}
}

func (c Chain) reset() Answer {
	aw := c.AppWrapper()
	if aw == nil {
		return Answer{}
	}
	return Answer{recovering.RungReset, AppWrappers, aw}
}

// Root is the owner that is owned by none; nil without owners.
func (c Chain) Root() *Owner {
	if len(c) == 0 {
		return nil
	}
	return &c[len(c)-1]
}
