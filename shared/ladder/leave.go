package ladder

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// Verdict is whether a program may take a pod, or a whole group, off its node now.
type Verdict struct {
	Go bool
	// Until is when to ask again, if not: zero when it is not this program's turn at all.
	Until time.Time
	// Why not, for people.
	Why string
}

// Leave decides whether a program may take the pods of a workload off a node that is to be left. Autopilot's EVICT, a taint of the
// rescheduler and the repair of lost pods may come together; they do one thing together:
//
//   - EVICT beats all: the AppWrapper, if there is one, resets the workload, and nobody else moves its pods.
//   - Pods that are gone already, because a taint or a drain took them, are replaced by the group's own repair, which chooses no node:
//     affinity and memory of the others do. That is the one restart of the group.
//   - Whoever finds another rung at work waits for it: when that is done there are no pods on the node any more.
//
// marks says which kinds of marks the node bears.
func Leave(p Program, c Chain, marks Marks, now time.Time) Verdict {
	objects := make([]map[string]string, len(c))
	for i := range c {
		objects[i] = c[i].Annotations
	}
	reset := c.AppWrapper() != nil && marks.Evict
	switch {
	case p == AppWrappers && reset:
		return Verdict{Go: true} // a reset of an unhealthy node has no grace period: what others repair there is lost with it
	case p == AppWrappers:
		return Verdict{Why: "nothing marks the node for a whole workload to leave"}
	case p == Orchestrator && marks.Gone:
		return Verdict{Go: true} // it takes nobody away, and the slot is empty
	case reset:
		return Verdict{Why: "its AppWrapper leaves the node as a whole"}
	case p == Orchestrator:
		return Verdict{Why: "the pod is there"}
	}
	if until := recovering.Until(rungOf(p), now, objects...); !until.IsZero() {
		return Verdict{Until: until, Why: "another rung of the ladder is at work on it"}
	}
	if c.Moved() == nil && !marks.Tainted {
		return Verdict{Why: "the workload does not ask for its pods to be moved"}
	}
	return Verdict{Go: true}
}

// Marks are what speaks against a node, or a pod on it.
type Marks struct {
	Evict   bool // by a health check that concerns the pod: autopilot.ibm.com/gpuhealth=EVICT and its like
	Tainted bool // by the rescheduler, for pods of many workloads
	Gone    bool // the pod is gone or has failed: whatever takes it away has done so
}

func rungOf(p Program) int {
	switch p {
	case Orchestrator:
		return recovering.RungProcess
	case Elastic:
		return recovering.RungElastic
	case JobSets:
		return recovering.RungRecreate
	case AppWrappers:
		return recovering.RungReset
	}
	return recovering.RungMove
}
