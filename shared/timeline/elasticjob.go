package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// ElasticJob is what is read of an ElasticJob's spec and status.
type ElasticJob struct {
	BackoffLimit int32 // -1: without limit
	// Message says where workers are that do not run; empty if all do.
	Message string
	Workers []ElasticWorker
}

// ElasticWorker is what one worker has been through; only its last replacement is known by time.
type ElasticWorker struct {
	Index                 int32
	Failures, Disruptions int32
	LastReason            string
	LastTime              time.Time
	GivenUp               bool
}

// workerGivenUp is the result for a worker that nobody replaces: the others go on without it, as long as they are enough.
const workerGivenUp = "given up"

func ofElasticJob(o Object) []Entry {
	list := []Entry{{At: o.Created, Object: o.String(), What: Started}}
	for _, w := range o.ElasticJob.Workers {
		if w.LastTime.IsZero() {
			continue
		}
		e := Entry{
			At: w.LastTime, Rung: recovering.RungElastic, Object: o.String(), What: Replaced, Cause: w.LastReason,
			Worker: fmt.Sprintf("worker-%d", w.Index), Count: w.Failures, Limit: o.ElasticJob.BackoffLimit,
		}
		if w.GivenUp {
			e.Result = workerGivenUp
		}
		list = append(list, e)
	}
	return append(list, ends(o, "Succeeded", "Failed")...)
}

// elasticWorker is the worker of a pod of an ElasticJob.
func elasticWorker(job, pod string) string { return strings.TrimPrefix(pod, job+"-") }
