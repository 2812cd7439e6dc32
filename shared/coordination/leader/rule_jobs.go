package leader

// deleteStaleJobs deletes the Jobs of earlier epochs after a recreation. It is level-based: if a leader dies during a recreation,
// the next one continues. Deleting by UID protects a newer Job with the same name.
func (p *planner) deleteStaleJobs() {
	if p.alone() { // such an owner creates its pods itself
		for _, pod := range p.Pods {
			if pod.Lives() && p.Owner.Epoch.Stale(pod.Generation) {
				p.do(DeletePod{Pod: pod, Slot: pod.Slot, Why: "belongs to an earlier epoch", For: ForEpoch})
			}
		}
		return
	}
	for _, job := range p.Jobs {
		if !job.Deleting && p.Owner.Epoch.Stale(job.Generation) {
			p.do(DeleteJob{Job: job, For: ForEpoch})
		}
	}
}

// moveLateJobs handles Jobs that the owner's controller has left in an earlier epoch, because pods of that epoch can never join. A
// suspended Job that has not started creates its pods when it is resumed, so it is moved. A running Job is deleted, and the
// owner's controller creates it again.
func (p *planner) moveLateJobs() {
	if p.Owner.Served == nil || p.wanted == nil {
		return
	}
	for _, job := range p.Jobs {
		switch {
		case !job.Current || job.Over || job.LedBy != p.Owner.Served.Installation || job.Generation >= p.Owner.Epoch.Epoch:
		case job.Suspended && job.Started.IsZero():
			p.do(MoveJob{Job: job, Epoch: p.Owner.Epoch.Epoch})
		case !job.Suspended && !p.wanted.Suspended:
			p.do(DeleteJob{Job: job, For: ForEpoch})
		}
	}
}
