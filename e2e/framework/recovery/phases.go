package recovery

import "time"

// Phases holds the times of an in-place restart, relative to the kill. A time is 0 if the record does not contain it.
// The times come from the test, the agent, the store and the workers' output, which all use this machine's clock.
type Phases struct {
	Detected time.Duration // the agent or the supervisor detected that the worker had exited
	Ordered  time.Duration // the store received the report, and published the restart order in the same step
	InSync   time.Duration // the last worker had joined
	Ended    time.Duration // the API server showed that the deleted pod had terminated; 0 if none was deleted
	Again    time.Duration // the last worker's program had started again
}

// Phases returns the phases of a failure. For a recreation, all but Again are 0.
func (f Failure) Phases() Phases {
	p := Phases{Again: f.Outage()}
	if !f.Ended.IsZero() {
		p.Ended = f.Ended.Sub(f.Killed)
	}
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
