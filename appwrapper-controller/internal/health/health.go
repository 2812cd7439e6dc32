// Package health interprets the status of wrapped objects. Kinds that it does not know are judged by their pods. It is pure.
package health

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// State is the state of an object's work.
type State int

const (
	// Unknown means that the pods decide.
	Unknown State = iota
	// Active means that the work continues, whatever the state of its pods.
	Active
	// Complete means that the work has completed.
	Complete
	// Failed means that the object's own controller has given up.
	Failed
)

// Report is the state of an object according to its status.
type Report struct {
	State State
	// Message is the reason of a failure.
	Message string
	// Restarting is true while the object's own controller replaces its pods. Failed pods do not count during that time.
	Restarting bool
	// EnoughPods is true while the object's own controller reports that its running pods are enough. Failed pods are kept for their logs.
	EnoughPods bool
	// Pods is the number of pods wanted now if it is less than the pod sets have; nil otherwise.
	Pods *int32
	// Active is the number of pods that should be active now, besides those that have succeeded; nil if unknown.
	Active *int32
	// Succeeded is the number of succeeded pods, some of which may have been deleted; 0 if unknown.
	Succeeded int32
	// ChildJobs are the started Jobs of a JobSet, whose status determines Active and Succeeded; nil for other kinds.
	ChildJobs []ChildJobs
}

// Ended reports whether the work has completed or failed.
func (r Report) Ended() bool { return r.State == Complete || r.State == Failed }

// adapter reads objects of one kind.
type adapter func(status object) Report

// byKind lists the kinds whose status is interpreted, in all versions.
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

// Pod is read as a typed object, because pods are cached anyway.
var Pod = schema.GroupKind{Kind: "Pod"}

// Known reports whether the status of the kind is interpreted. For other kinds the metadata is enough.
func Known(kind schema.GroupKind) bool { return kind == Pod || byKind[kind] != nil }

// ReportsCompletion reports whether objects of the kind report their own completion. Other kinds are complete when all of their pods have
// succeeded.
func ReportsCompletion(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}, schema.GroupKind{Group: "ray.io", Kind: "RayCluster"}:
		return false
	}
	return Known(kind)
}

// Of interprets the status of an object. Fields of an unexpected type count as absent.
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

// object is read leniently: a field that is missing or has another type is empty.
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

// condition reports whether the condition is True, and returns its message or reason.
func (o object) condition(kind string) (isTrue bool, message string) {
	for _, c := range o.list("status", "conditions") {
		if c.text("type") == kind {
			return c.text("status") == "True", cmp.Or(c.text("message"), c.text("reason"))
		}
	}
	return false, ""
}

// terminal returns a report from the two conditions that end the work.
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
