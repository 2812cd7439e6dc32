package kubelet

import "time"

// Rules say how the kubelet of a simulated node behaves. The zero value is a kubelet that loses no time at all.
type Rules struct {
	// StartDelay is the time from a pod's binding until its containers run.
	StartDelay time.Duration
	// Tick is the period in which the kubelet looks for changes of containers: an exit is noticed after a time drawn
	// evenly from [0, Tick).
	Tick time.Duration
	// RestartDelay is the time from the decision to restart a container until it runs.
	RestartDelay time.Duration
	// StopDelay is the time from a pod's deletion until it is gone.
	StopDelay time.Duration
	// BackOff keeps a container that exits again and again from being restarted at once.
	BackOff BackOff
}

// BackOff is the kubelet's CrashLoopBackOff: none before the first restart, then from Initial on twice the last, up to Max.
// The zero value never waits.
type BackOff struct {
	Initial time.Duration
	// Max is the kubelet's crashLoopBackOff.maxContainerRestartPeriod.
	Max time.Duration
	// ResetAfter is how long after its last restart a container must exit to be forgiven.
	ResetAfter time.Duration
}

// KubeletRules are the ones measured on a real node with the kubelet's defaults: 0.3 to 1.2 s to the first restart,
// 10 to 16 s to the second.
func KubeletRules() Rules {
	return Rules{
		StartDelay:   time.Second,
		Tick:         time.Second,
		RestartDelay: 200 * time.Millisecond,
		BackOff:      BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute, ResetAfter: 10 * time.Minute},
	}
}

// next is the back-off after one of the given length; the first follows zero.
func (b BackOff) next(last time.Duration) time.Duration {
	if last == 0 {
		return min(b.Initial, b.Max)
	}
	return min(2*last, b.Max)
}

// retry is how long the kubelet leaves a pod alone that it found backing off, before jitter. It does not wake up for the
// end of the back-off itself.
func (b BackOff) retry() time.Duration {
	const period = 10 * time.Second
	return min(period, b.Max)
}

// retryJitter is the largest part by which a retry comes later.
const retryJitter = 0.5
