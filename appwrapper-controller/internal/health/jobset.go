package health

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
