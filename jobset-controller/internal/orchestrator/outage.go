package orchestrator

import "sync/atomic"

// outage makes one outage of the store one error, however many groups notice it.
type outage struct{ going atomic.Bool }

// began tells whether this is the first notice.
func (o *outage) began() bool { return o.going.CompareAndSwap(false, true) }

func (o *outage) ended() { o.going.Store(false) }
