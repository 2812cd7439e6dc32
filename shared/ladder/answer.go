package ladder

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

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

// First is who answers a fault; Program is Nobody if none does.
func First(c Chain, f Fault) Answer {
	if list := Answers(c, f); len(list) > 0 {
		return list[0]
	}
	return Answer{}
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
