package leader

// deleteStaleJobs deletes the Jobs that a recreation has left behind. It is the level that counts, not the moment of the
// recreation, so a leader that dies in between is no loss. The UID keeps a Job of the same name that came later safe.
func (p *planner) deleteStaleJobs() {
	if p.alone() {
		p.deleteStalePods()
		return
	}
	for i := range p.Jobs {
		if job := &p.Jobs[i]; !job.Deleting && p.Owner.Epoch.Stale(job.Generation) {
			p.do(DeleteJob{Job: job, For: ForEpoch})
		}
	}
}

// deleteStalePods deletes what a recreation has left behind of an owner that makes its pods itself.
func (p *planner) deleteStalePods() {
	for _, pod := range p.Pods {
		if pod.Lives() && p.Owner.Epoch.Stale(pod.Generation) {
			p.do(DeletePod{Pod: pod, Slot: pod.Slot, Why: "is of an earlier epoch", For: ForEpoch})
		}
	}
}

// moveLateJobs takes the Jobs along that the owner's controller has left in an earlier epoch: pods of that can never join. A suspended Job makes
// its pods when it is resumed. One that runs is made again.
func (p *planner) moveLateJobs() {
	if p.Owner.Served == nil || p.wanted == nil {
		return
	}
	for i := range p.Jobs {
		job := &p.Jobs[i]
		switch {
		case !job.Current || job.Over || job.LedBy != p.Owner.Served.Installation || job.Generation >= p.Owner.Epoch.Epoch:
		case job.Suspended && job.Started.IsZero():
			p.do(MoveJob{Job: job, Epoch: p.Owner.Epoch.Epoch})
		case !job.Suspended && !p.wanted.Suspended:
			p.do(DeleteJob{Job: job, For: ForEpoch})
		}
	}
}
