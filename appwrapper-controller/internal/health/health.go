// Package health reads what the status of a wrapped object says about its work. There is one file for each kind; a kind that is not
// known is judged by its pods. It is pure.
package health

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State of the work of an object.
type State int

const (
	// Unknown: the status does not tell; the pods do.
	Unknown State = iota
	// Active: the work goes on, whatever its pods look like.
	Active
	// Complete: the work is done.
	Complete
	// Failed: the object's own controller has given up.
	Failed
)

// Report is what an object says.
type Report struct {
	State State
	// Message says why it failed.
	Message string
	// Restarting: the object's own controller is replacing its pods, which are no failure meanwhile.
	Restarting bool
	// GoesOn: the object's own controller says that those of its pods that run are enough. Failed ones are kept for their logs.
	EnoughPods bool
	// Pods is how many are wanted at this moment, if that is fewer than its pod sets have. Nil: as many as they have.
	Pods *int32
	// Active is how many pods should be at work at this moment, besides those that have succeeded. Nil: the object does not tell.
	Active *int32
	// Succeeded is how many pods have succeeded, of which some may have been deleted. 0 if the object does not tell.
	Succeeded int32
	// ChildJobs of a JobSet whose turn has come: Active and Succeeded follow from their status. Nil for all others.
	ChildJobs []ChildJobs
}

// Ended reports whether nothing is left to do: the work is done, or given up.
func (r Report) Ended() bool { return r.State == Complete || r.State == Failed }

// adapter reads objects of one kind.
type adapter func(status object) Report

// byKind are the kinds whose status is understood, in all of their versions.
var byKind = map[schema.GroupKind]adapter{
	{Group: "apps", Kind: "Deployment"}:                          deployment,
	{Group: "apps", Kind: "StatefulSet"}:                         statefulSet,
	{Group: "batch", Kind: "Job"}:                                job,
	{Group: "elastic.pytorch.org", Kind: "ElasticJob"}:           elasticJob,
	{Group: "jobset.x-k8s.io", Kind: "JobSet"}:                   jobSet,
	{Group: "kubeflow.org", Kind: "MPIJob"}:                      mpiJob,
	{Group: "kubeflow.org", Kind: "PyTorchJob"}:                  pyTorchJob,
	{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}: leaderWorkerSet,
	{Group: "ray.io", Kind: "RayCluster"}:                        rayCluster,
	{Group: "ray.io", Kind: "RayJob"}:                            rayJob,
}

// Pod is the kind that is read as its own type: pods are in a cache already.
var Pod = schema.GroupKind{Kind: "Pod"}

// Understood reports whether the status of a kind is read; of others the metadata is enough.
func Known(kind schema.GroupKind) bool { return kind == Pod || byKind[kind] != nil }

// Finishes tells whether objects of the kind say themselves when their work is done. Others are done when all of their pods have
// succeeded.
func ReportsCompletion(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}, schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}:
		return false
	}
	return Known(kind)
}

// Of reads the status of an object. What has another shape than its kind is known to have counts as not said.
func Of(o runtime.Object) Report {
	switch o := o.(type) {
	case *corev1.Pod:
		return pod(o)
	case *unstructured.Unstructured:
		if read := byKind[o.GroupVersionKind().GroupKind()]; read != nil {
			return read(object(o.Object))
		}
	}
	return Report{}
}

// object is read leniently: whatever is not there, or has another type, is empty.
type object map[string]any

func (o object) text(path ...string) string {
	value, _, _ := unstructured.NestedString(o, path...)
	return value
}

func (o object) number(absent int64, path ...string) int64 {
	value, found, err := unstructured.NestedFieldNoCopy(o, path...)
	if !found || err != nil {
		return absent
	}
	switch n := value.(type) {
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		return int64(n)
	}
	return absent
}

func (o object) list(path ...string) []object {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	items, _ := value.([]any)
	var found []object
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// condition returns whether one of the type is True, and what it says.
func (o object) condition(kind string) (isTrue bool, message string) {
	for _, c := range o.list("status", "conditions") {
		if c.text("type") == kind {
			return c.text("status") == "True", cmp.Or(c.text("message"), c.text("reason"))
		}
	}
	return false, ""
}

// terminal reads a pair of conditions that end the work.
func (o object) terminal(complete, failed string) Report {
	if isTrue, message := o.condition(failed); isTrue {
		return Report{State: Failed, Message: message}
	}
	if isTrue, _ := o.condition(complete); isTrue {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

func count(n int64) *int32 {
	n32 := int32(max(0, n))
	return &n32
}
