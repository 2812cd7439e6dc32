package health

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// deployment may be scaled.
func deployment(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }

// statefulSet may be scaled.
func statefulSet(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }

// job: a Job runs fewer pods at a time at the end of its work, and its failed ones stay. One with more completions than it runs at a
// time works in waves: its status tells how many pods are still to come.
func job(o object) Report {
	r := o.terminal("Complete", "Failed")
	r.Succeeded = *count(o.number(0, "status", "succeeded"))
	parallelism := o.number(1, "spec", "parallelism")
	completions := o.number(-1, "spec", "completions")
	if completions < 0 {
		return r
	}
	// Pods that have succeeded count as ready, hence towards what is wanted.
	r.Pods = count(min(parallelism, completions))
	r.Active = count(min(parallelism, completions-int64(r.Succeeded)))
	return r
}

// pod: one that has failed is a failed pod, which is a matter of the pods, not of components.
func pod(p *corev1.Pod) Report {
	if p.Status.Phase == corev1.PodSucceeded {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

// elasticJob goes on with as few workers as its minimum. A worker that was given up leaves a failed pod, for its logs.
func elasticJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	r.EnoughPods, _ = o.condition("Running")
	if least := o.number(0, "spec", "minReplicas"); least > 0 {
		r.Pods = count(least)
	}
	return r
}

// leaderWorkerSet may be scaled. An update replaces its groups one by one.
func leaderWorkerSet(o object) Report {
	size := o.number(1, "spec", "leaderWorkerTemplate", "size")
	updating, _ := o.condition("UpdateInProgress")
	return Report{Pods: count(o.number(1, "spec", "replicas") * size), Restarting: updating}
}

// mpiJob: the workers may be removed as soon as the launcher has finished, so that only the conditions tell.
func mpiJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	return r
}

func pyTorchJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	return r
}

// rayCluster: its state "failed" passes, so it is not a failure. An autoscaler may want fewer workers than the groups have.
func rayCluster(o object) Report {
	if wanted := o.number(-1, "status", "desiredWorkerReplicas"); wanted >= 0 {
		const head = 1
		return Report{Pods: count(wanted + head)}
	}
	return Report{}
}

// rayJob: the pods of the cluster run on after the job has finished, or are gone at once, as its specification says.
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
