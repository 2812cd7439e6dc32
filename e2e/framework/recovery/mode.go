// Package recovery lets one worker of a JobSet die on the real node and takes the time until all run again, in the same way
// for every answer that Holdfast has to a failure. The demo and the benchmarks are made of it.
package recovery

import (
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Mode is one way to answer a failure.
type Mode struct {
	Name    string
	Example string // below examples/
	Keeps   string // what outlives the failure
	InPlace bool
	// SameContainers: not even the containers are restarted.
	SameContainers bool
	Change         func(*v1alpha2.JobSet)
}

// The answers, the fastest first.
var (
	Exec = Mode{
		Name: "in place, exec driver", Example: "one-annotation.yaml", InPlace: true, SameContainers: true,
		Keeps: "pods and containers; one annotation in the manifest",
	}
	CRI = Mode{
		Name: "in place, CRI driver", Example: "in-place-restart.yaml", InPlace: true,
		Keeps: "pods: addresses, volumes, devices",
	}
	Recreate = Mode{Name: "recreation", Example: "recreate.yaml", Keeps: "nothing: new pods"}
)
