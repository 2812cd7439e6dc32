package recovery

import "time"

// Phases are the moments of a restart in place, each counted from the kill. A moment that the account lacks is 0. The
// times come from the killer, the agent, the store and the workers' own output; all share this machine's clock.
type Phases struct {
	Detected time.Duration // the agent, or the supervisor, knew that the worker had exited
	Ordered  time.Duration // the store knew, and had published the order in the same step
	InSync   time.Duration // the last worker had joined
	Again    time.Duration // the last worker's program had started again
}

// Phases of a failure; all but Again are 0 for a recreation.
func (f Failure) Phases() Phases {
	p := Phases{Again: f.Outage()}
	if f.Account == nil {
		return p
	}
	since := func(unixMilli int64) time.Duration {
		if unixMilli == 0 {
			return 0
		}
		return time.UnixMilli(unixMilli).Sub(f.Killed)
	}
	p.Detected, p.Ordered = since(f.Account.DetectedAt), since(f.Account.ReportedAt)
	p.InSync = since(f.Account.InSyncAt)
	return p
}
