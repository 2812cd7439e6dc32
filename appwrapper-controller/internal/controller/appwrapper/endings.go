package appwrapper

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
)

// endings remembers how wrapped objects ended. An object with a short time to live is gone soon after it says so, and a component that
// is gone without having ended is a failure. A restart loses them, which is why admission warns of such times.
type endings struct{ byObject *lru.Cache }

// mostEndings bounds the memory: an ending is wanted for the moment between the deletion and the next reconcile.
const mostEndings = 4096

func newEndings() *endings { return &endings{lru.New(mostEndings)} }

// owned is a wrapped object of a workload. The objects of all attempts may have the same name.
type owned struct {
	owner types.UID
	reference
}

// ending of the object that was created at the time.
type ending struct {
	created time.Time
	report  health.Report
}

// note remembers the report of an object if its work has ended.
func (e *endings) note(owner types.UID, ref reference, object client.Object, report health.Report) {
	if report.Ended() {
		e.byObject.Add(owned{owner, ref}, ending{object.GetCreationTimestamp().Time, report})
	}
}

// noteDeleted remembers the last report of an object that nobody can read any more.
func (e *endings) noteDeleted(object *unstructured.Unstructured) {
	if owner := owningAppWrapper(object); owner != nil {
		e.note(owner.UID, referenceTo(object), object, health.Of(object))
	}
}

// of returns how the object of a component ended, if it was created in the attempt that began at the time.
func (e *endings) of(owner types.UID, ref reference, attempt time.Time) health.Report {
	found, _ := e.byObject.Get(owned{owner, ref})
	if last, ok := found.(ending); ok && !last.created.Before(attempt.Truncate(time.Second)) {
		return last.report
	}
	return health.Report{}
}

// forget how the object of a component ended: the next attempt creates another.
func (e *endings) forget(owner types.UID, ref reference) { e.byObject.Remove(owned{owner, ref}) }
