// Package health interprets the status of wrapped objects. The state of an object of an unknown kind is determined by its pods. The
// package performs no I/O.
package health

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type State int

const (
	// Unknown means that the pods determine the state.
	Unknown State = iota
	// Active means that the work continues, regardless of the state of its pods.
	Active
	// Complete means that the work has completed.
	Complete
	// Failed means that the object's own controller has given up.
	Failed
)

// Report is the state of an object according to its status.
type Report struct {
	State State
	// Message is the reason for a failure.
	Message string
	// Restarting is true while the object's own controller replaces its pods. Failed pods do not count during that time.
	Restarting bool
	// EnoughPods is true while the object's own controller reports that enough pods are running. Failed pods are then kept only for their
	// logs.
	EnoughPods bool
	// Pods is the number of pods that the object currently needs, if lower than the count in its pod sets; nil otherwise.
	Pods *int32
	// Active is the number of pods that should be active now, in addition to those that have succeeded; nil if unknown.
	Active *int32
	// Succeeded is the number of pods that have succeeded, including deleted ones; 0 if unknown.
	Succeeded int32
}

func (r Report) Ended() bool { return r.State == Complete || r.State == Failed }

type adapter struct {
	read func(status object) Report
	// completes means that objects of the kind report their own completion.
	completes bool
}

// byKind lists the kinds whose status is interpreted, in all versions.
var byKind = map[schema.GroupKind]adapter{
	{Group: "apps", Kind: "Deployment"}:                          {replicas, false},
	{Group: "apps", Kind: "StatefulSet"}:                         {replicas, false},
	{Group: "batch", Kind: "Job"}:                                {job, true},
	{Group: "elastic.pytorch.org", Kind: "ElasticJob"}:           {elasticJob, true},
	{Group: "jobset.x-k8s.io", Kind: "JobSet"}:                   {jobSet, true},
	{Group: "kubeflow.org", Kind: "MPIJob"}:                      {kubeflowJob, true},
	{Group: "kubeflow.org", Kind: "PyTorchJob"}:                  {kubeflowJob, true},
	{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}: {leaderWorkerSet, false},
	{Group: "ray.io", Kind: "RayCluster"}:                        {rayCluster, false},
	{Group: "ray.io", Kind: "RayJob"}:                            {rayJob, true},
}

var (
	// Pod is read as a typed object, because pods are cached anyway.
	Pod = schema.GroupKind{Kind: "Pod"}
	// JobSet reports neither Active nor Succeeded, which depend on its Jobs.
	JobSet = schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}
)

// Known reports whether the status of the kind is interpreted. For other kinds only the metadata is needed.
func Known(kind schema.GroupKind) bool { return kind == Pod || byKind[kind].read != nil }

// ReportsCompletion reports whether objects of the kind report their own completion. Other kinds are complete when all of their pods have
// succeeded.
func ReportsCompletion(kind schema.GroupKind) bool { return kind == Pod || byKind[kind].completes }

// Of interprets the status of an object. Fields of an unexpected type are treated as absent.
func Of(o runtime.Object) Report {
	switch o := o.(type) {
	case *corev1.Pod:
		return pod(o)
	case *unstructured.Unstructured:
		if read := byKind[o.GroupVersionKind().GroupKind()].read; read != nil {
			return read(object(o.Object))
		}
	}
	return Report{}
}

// object is an unstructured object. A field that is missing or has the wrong type reads as empty.
type object map[string]any

func (o object) text(path ...string) string {
	value, _, _ := unstructured.NestedString(o, path...)
	return value
}

func (o object) number(absent int64, path ...string) int64 {
	if n, found, err := unstructured.NestedInt64(o, path...); found && err == nil {
		return n
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

// terminal returns a report based on the two conditions that end the work.
func (o object) terminal(complete, failed string) Report {
	if isTrue, message := o.condition(failed); isTrue {
		return Report{State: Failed, Message: message}
	}
	if isTrue, _ := o.condition(complete); isTrue {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

func count(n int64) *int32 { return new(int32(max(0, n))) }

// replicas reads the number of pods from the spec, because Deployments and StatefulSets may be scaled.
func replicas(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }

// job handles Jobs, which run fewer pods near their end and keep failed pods. A Job with more completions than parallelism runs its pods
// in waves, and its status determines how many remain.
func job(o object) Report {
	r := o.terminal("Complete", "Failed")
	r.Succeeded = *count(o.number(0, "status", "succeeded"))
	parallelism := o.number(1, "spec", "parallelism")
	completions := o.number(-1, "spec", "completions")
	if completions < 0 {
		return r
	}
	// Succeeded pods count as ready, so the needed number must include them.
	r.Pods = count(min(parallelism, completions))
	r.Active = count(min(parallelism, completions-int64(r.Succeeded)))
	return r
}

// pod reports a failed Pod as active, because it is handled as a failed pod, not as a failed component.
func pod(p *corev1.Pod) Report {
	if p.Status.Phase == corev1.PodSucceeded {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

// elasticJob reports that only minReplicas workers are needed. A worker that is no longer replaced leaves its failed pod behind for the
// logs.
func elasticJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	r.EnoughPods, _ = o.condition("Running")
	if least := o.number(0, "spec", "minReplicas"); least > 0 {
		r.Pods = count(least)
	}
	return r
}

// leaderWorkerSet reads replicas from the spec, because a LeaderWorkerSet may be scaled. A rolling update replaces its groups one by one.
func leaderWorkerSet(o object) Report {
	size := o.number(1, "spec", "leaderWorkerTemplate", "size")
	updating, _ := o.condition("UpdateInProgress")
	return Report{Pods: count(o.number(1, "spec", "replicas") * size), Restarting: updating}
}

// kubeflowJob reads only the conditions, because the workers of an MPIJob may be deleted as soon as the launcher has finished.
func kubeflowJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	return r
}

// rayCluster ignores the "failed" state, which is temporary. An autoscaler may request fewer workers than the groups specify.
func rayCluster(o object) Report {
	if wanted := o.number(-1, "status", "desiredWorkerReplicas"); wanted >= 0 {
		const head = 1
		return Report{Pods: count(wanted + head)}
	}
	return Report{}
}

// rayJob ignores the pods. Depending on its spec, they keep running after the job has finished or are deleted immediately.
func rayJob(o object) Report {
	message := cmp.Or(o.text("status", "message"), o.text("status", "reason"), o.text("status", "jobStatus"))
	switch o.text("status", "jobDeploymentStatus") {
	case "Failed":
		return Report{State: Failed, Message: message}
	case "Complete":
		switch o.text("status", "jobStatus") {
		case "SUCCEEDED":
			return Report{State: Complete}
		case "FAILED", "STOPPED":
			return Report{State: Failed, Message: message}
		}
	case "Retrying":
		return Report{State: Active, Restarting: true}
	}
	return Report{State: Active}
}

// jobSet reports how many pods the stages that have started need. A stage that waits because of startupPolicy or dependsOn has no pods.
func jobSet(o object) Report {
	r := o.terminal("Completed", "Failed")
	r.Restarting, _ = o.condition("RestartingJobSet")
	begun := map[string]bool{}
	for _, s := range o.list("status", "replicatedJobsStatus") {
		begun[s.text("name")] = s.number(0, "active")+s.number(0, "ready")+s.number(0, "succeeded")+s.number(0, "failed") > 0
	}
	inOrder := o.text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	wanted, waits := int64(0), false
	for i, rj := range o.list("spec", "replicatedJobs") {
		if staged := inOrder && i > 0 || len(rj.list("dependsOn")) > 0; staged && !begun[rj.text("name")] {
			waits = true
			continue
		}
		parallelism := rj.number(1, "template", "spec", "parallelism")
		wanted += rj.number(1, "replicas") * min(parallelism, rj.number(parallelism, "template", "spec", "completions"))
	}
	if waits {
		r.Pods = count(wanted)
	}
	return r
}
