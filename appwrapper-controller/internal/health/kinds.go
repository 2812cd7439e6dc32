package health

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// deployment reads replicas from the spec, because a Deployment may be scaled.
func deployment(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }

// statefulSet reads replicas from the spec, because a StatefulSet may be scaled.
func statefulSet(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }

// job handles Jobs, which run fewer pods at a time near their end and keep failed pods. A Job with more completions than parallelism runs
// its pods in waves, and its status has the number of pods that remain.
func job(o object) Report {
	r := o.terminal("Complete", "Failed")
	r.Succeeded = *count(o.number(0, "status", "succeeded"))
	parallelism := o.number(1, "spec", "parallelism")
	completions := o.number(-1, "spec", "completions")
	if completions < 0 {
		return r
	}
	// Succeeded pods count as ready, so they count as wanted too.
	r.Pods = count(min(parallelism, completions))
	r.Active = count(min(parallelism, completions-int64(r.Succeeded)))
	return r
}

// pod reports a failed Pod as active: a failed pod is judged as a pod, not as a component.
func pod(p *corev1.Pod) Report {
	if p.Status.Phase == corev1.PodSucceeded {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

// elasticJob needs only minReplicas workers. A worker that is no longer replaced leaves a failed pod for its logs.
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

// mpiJob reads only the conditions, because the workers may be deleted as soon as the launcher has finished.
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

// rayCluster ignores the state "failed", which is temporary. An autoscaler may want fewer workers than the groups have.
func rayCluster(o object) Report {
	if wanted := o.number(-1, "status", "desiredWorkerReplicas"); wanted >= 0 {
		const head = 1
		return Report{Pods: count(wanted + head)}
	}
	return Report{}
}

// rayJob ignores the pods: depending on its spec, they keep running after the job has finished or are deleted at once.
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
