package leader

// deleteStaleJobs deletes the Jobs that a recreation has left behind. It is the level that counts, not the moment of the
// recreation, so a leader that dies in between is no loss. The UID keeps a Job of the same name that came later safe.
func (p *planner) deleteStaleJobs() {
	for i := range p.Jobs {
		if job := &p.Jobs[i]; !job.Deleting && p.Owner.Epoch.Stale(job.Generation) {
			p.do(DeleteJob{Job: job, For: ForEpoch})
		}
	}
}
