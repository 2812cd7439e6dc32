package kubelet

import "time"

// Rules describe how the kubelet of a simulated node behaves. The zero value is a kubelet without any delays.
type Rules struct {
	// StartDelay is the time from a pod's binding until its containers run.
	StartDelay time.Duration
	// Tick is the interval at which the kubelet checks containers for changes. It notices an exit after a time drawn
	// uniformly from [0, Tick).
	Tick time.Duration
	// RestartDelay is the time from the decision to restart a container until it runs.
	RestartDelay time.Duration
	// StopDelay is the time from a pod's deletion until it is gone.
	StopDelay time.Duration
	// BackOff delays the restart of a container that keeps exiting.
	BackOff BackOff
}

// BackOff is the kubelet's CrashLoopBackOff: none before the first restart, then Initial, then twice the last one, up
// to Max. The zero value never waits.
type BackOff struct {
	Initial time.Duration
	// Max is the kubelet's crashLoopBackOff.maxContainerRestartPeriod.
	Max time.Duration
	// ResetAfter is how long a container must run after its last restart for the back-off to be reset.
	ResetAfter time.Duration
}

// KubeletRules returns the rules measured on a real node with the kubelet's defaults: 0.3 to 1.2 s until the first
// restart, 10 to 16 s until the second.
func KubeletRules() Rules {
	return Rules{
		StartDelay:   time.Second,
		Tick:         time.Second,
		RestartDelay: 200 * time.Millisecond,
		BackOff:      BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute, ResetAfter: 10 * time.Minute},
	}
}

// next returns the back-off that follows one of the given length, or Initial after zero.
func (b BackOff) next(last time.Duration) time.Duration {
	if last == 0 {
		return min(b.Initial, b.Max)
	}
	return min(2*last, b.Max)
}

// retry returns how long the kubelet waits, before jitter, to recheck a pod that was backing off. The kubelet does not
// wake up at the end of the back-off itself.
func (b BackOff) retry() time.Duration {
	const period = 10 * time.Second
	return min(period, b.Max)
}

// retryJitter is the largest share of the period by which a retry is delayed.
const retryJitter = 0.5
