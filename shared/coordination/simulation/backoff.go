package simulation

import "time"

// crashLoop is the kubelet's CrashLoopBackOff of one container (reference 2.1). The first restart is immediate. Later ones wait 10
// s, 20 s, ... 300 s from the exit, plus up to 50 %. Ten minutes without a restart reset it.
type crashLoop struct {
	entry   time.Duration // 0 if there was no restart yet
	granted time.Duration // when the last restart was granted
}

const (
	firstBackoff = 10 * time.Second
	lastBackoff  = 300 * time.Second
	quietPeriod  = 600 * time.Second
)

// wait returns how long after its exit a container may start again, without the jitter.
func (c *crashLoop) wait(exit time.Duration) time.Duration {
	if c.entry == 0 || exit-c.granted > quietPeriod {
		return 0
	}
	return c.entry
}

// grant records a restart at the given time after an exit, and how long the exit waited.
func (c *crashLoop) grant(now, waited time.Duration) {
	c.granted = now
	if waited == 0 {
		c.entry = firstBackoff
		return
	}
	c.entry = min(lastBackoff, 2*c.entry)
}

// jobBackoff returns how long the Job controller delays the next pod after this many failures since the last success.
func jobBackoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(10*time.Minute, 10*time.Second<<min(10, failures-1))
}
