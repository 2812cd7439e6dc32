package policy

import (
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Outcome of Create. The zero value: all components are there.
type Outcome struct {
	// Err is why a component could not be created; empty if all were.
	Err string
	// Fatal: trying again is of no use.
	Fatal bool
	// Refused: nothing was made.
	Refused bool
	// Retry is when to try again.
	Retry time.Duration
}

func resuming(f *Facts) *Decision {
	if f.Suspend {
		return suspend(f)
	}
	if f.Unreviewed != "" {
		return f.fail(v1beta2.ReasonCreateFailed, f.Unreviewed, nil)
	}
	d := f.decision()
	d.Do = Create
	return d
}

// AfterCreate goes on from the outcome of Create.
func AfterCreate(f *Facts, o Outcome) *Decision {
	d := f.decision()
	switch deadline := f.Clocks.AttemptStart.Add(f.Parameters.AdmissionGracePeriod); {
	case o.Err == "":
		d.Next = v1beta2.Running
		// The pods' time begins now: the attempt may have begun long ago, with a controller that then was away.
		d.Clocks.NotReadySince = f.Now
		return d
	case o.Fatal:
		return f.fail(v1beta2.ReasonCreateFailed, o.Err, nil)
	case f.Now.Before(deadline):
		d.wait(deadline, f.Now)
		d.waitFor(o.Retry)
		return d
	}
	return f.resetOrFail(v1beta2.ReasonCreateFailed, o.Err, true)
}
