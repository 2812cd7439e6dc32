// Package recovery kills one worker of a JobSet on a real node and measures the time until all workers are running
// again. It uses the same method for every recovery mode. The demo and the benchmarks use it.
package recovery

import (
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Mode is one way to recover from a failure.
type Mode struct {
	Name    string
	Example string // file in examples/
	Keeps   string // what survives the failure
	InPlace bool
	// SameContainers means that not even the containers are restarted.
	SameContainers bool
	// Upstream means that the upstream JobSet controller restarts the workers, so the store has no group.
	Upstream bool
	// Spare means that a spare pod is waiting on the second node, to which no other pod is scheduled.
	Spare  bool
	Change func(*v1alpha2.JobSet)
}

// grouped reports whether the store has a group for the workers.
func (m Mode) grouped() bool { return m.InPlace && !m.Upstream }

// Recovery modes, fastest first.
var (
	Exec = Mode{
		Name: "in place, exec driver", Example: "one-annotation.yaml", InPlace: true, SameContainers: true,
		Keeps: "pods and containers; one annotation in the manifest",
	}
	ExecSpare = Mode{
		Name: "in place, exec driver, one spare", Example: Exec.Example, InPlace: true, SameContainers: true, Spare: true,
		Keeps: Exec.Keeps,
	}
	CRI = Mode{
		Name: "in place, CRI driver", Example: "in-place-restart.yaml", InPlace: true,
		Keeps: "pods: addresses, volumes, devices",
	}
	Upstream = Mode{
		Name: "in place, upstream JobSet controller", Example: "recreate.yaml", InPlace: true, Upstream: true,
		Keeps: "pods", Change: framework.PublishedInPlace,
	}
	Recreate = Mode{Name: "recreation", Example: "recreate.yaml", Keeps: "nothing: new pods"}
)
