package health

// ChildJobs are the Jobs of a replicatedJob of a JobSet.
type ChildJobs struct {
	ReplicatedJob string
	// Count of the Jobs, and how many of them have not completed.
	Count, Unfinished int64
	// Parallelism and Completions of each.
	Parallelism, Completions int64
}

// ChildJob is one of them, by the labels of its pods.
type ChildJob struct{ ReplicatedJob, Index string }

// AtWork returns how many pods of the Jobs should run at this moment, given how many pods of each have succeeded.
func AtWork(jobs []ChildJobs, succeeded map[ChildJob]int32) *int32 {
	var sum int64
	for _, j := range jobs {
		most := min(j.Parallelism, j.Completions)
		known, left := int64(0), int64(0)
		for job, pods := range succeeded {
			if job.ReplicatedJob == j.ReplicatedJob && known < j.Count {
				known++
				left += max(0, min(most, j.Completions-int64(pods)))
			}
		}
		sum += min(left+(j.Count-known)*most, j.Unfinished*most)
	}
	return count(sum)
}
