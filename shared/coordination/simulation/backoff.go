package simulation

import "time"

// crashLoop simulates the kubelet's CrashLoopBackOff for one container (reference 2.1). The first restart is immediate. Later ones
// wait 10 s, 20 s and so on up to 300 s after the exit, plus up to 50 %. Ten minutes without a restart reset the back-off.
type crashLoop struct {
	entry   time.Duration // current delay; 0 if there has been no restart
	granted time.Duration // when the last restart was granted
}

const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 300 * time.Second
	quietPeriod  = 600 * time.Second
)

// wait returns how long a container must wait after its exit before it may be restarted, without jitter.
func (c *crashLoop) wait(exit time.Duration) time.Duration {
	if c.entry == 0 || exit-c.granted > quietPeriod {
		return 0
	}
	return c.entry
}

// grant records a restart at the given time, and how long it was delayed.
func (c *crashLoop) grant(now, waited time.Duration) {
	c.granted = now
	if waited == 0 {
		c.entry = firstBackoff
		return
	}
	c.entry = min(lastBackoff, 2*c.entry)
}

// jobBackoff returns how long the Job controller delays the next pod, given the number of failures since the last success.
func jobBackoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(10*time.Minute, 10*time.Second<<min(10, failures-1))
}
