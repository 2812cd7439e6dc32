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

func jobSet(o object) Report {
	r := o.terminal("Completed", "Failed")
	r.Restarting, _ = o.condition("RestartingJobSet")
	jobs, waits := startedJobs(o)
	r.ChildJobs = jobs
	var wanted int64
	for _, j := range jobs {
		wanted += j.Count * min(j.Parallelism, j.Completions)
	}
	if waits {
		r.Pods = count(wanted)
	}
	return r
}

// startedJobs returns the Jobs of the stages that have started, and whether later stages wait because of startupPolicy or dependsOn. A
// waiting stage has no pods.
func startedJobs(o object) (jobs []ChildJobs, waits bool) {
	begun, succeeded := map[string]bool{}, map[string]int64{}
	for _, s := range o.list("status", "replicatedJobsStatus") {
		succeeded[s.text("name")] = s.number(0, "succeeded")
		begun[s.text("name")] = s.number(0, "active")+s.number(0, "ready")+s.number(0, "succeeded")+s.number(0, "failed") > 0
	}
	inOrder := o.text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	for i, rj := range o.list("spec", "replicatedJobs") {
		staged := inOrder && i > 0 || len(rj.list("dependsOn")) > 0
		name := rj.text("name")
		if staged && !begun[name] {
			waits = true
			continue
		}
		j := ChildJobs{ReplicatedJob: name, Count: rj.number(1, "replicas"), Parallelism: rj.number(1, "template", "spec", "parallelism")}
		j.Completions = rj.number(j.Parallelism, "template", "spec", "completions")
		j.Unfinished = max(0, j.Count-succeeded[name])
		jobs = append(jobs, j)
	}
	return jobs, waits
}

// ChildJobs are the Jobs of a replicatedJob of a JobSet.
type ChildJobs struct {
	ReplicatedJob string
	// Count is the number of Jobs, and Unfinished the number of those that have not completed.
	Count, Unfinished int64
	// Parallelism and Completions are those of each Job.
	Parallelism, Completions int64
}

// ChildJob identifies one of the Jobs by the labels of its pods.
type ChildJob struct{ ReplicatedJob, Index string }

// ActivePods returns how many pods of the Jobs should be active now, given the number of succeeded pods of each Job.
func ActivePods(jobs []ChildJobs, succeeded map[ChildJob]int32) *int32 {
	var sum int64
	for _, j := range jobs {
		most := min(j.Parallelism, j.Completions)
		known, remaining := int64(0), int64(0)
		for job, pods := range succeeded {
			if job.ReplicatedJob == j.ReplicatedJob && known < j.Count {
				known++
				remaining += max(0, min(most, j.Completions-int64(pods)))
			}
		}
		sum += min(remaining+(j.Count-known)*most, j.Unfinished*most)
	}
	return count(sum)
}
