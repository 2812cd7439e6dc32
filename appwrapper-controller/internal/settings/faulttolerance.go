package settings

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// lowest is no minimum: what is below zero counts as zero, see period.
const lowest = time.Duration(math.MinInt64)

// FaultTolerance has the operator's values of the retry loop. The names are those of the published configuration.
type FaultTolerance struct {
	AdmissionGracePeriod        Duration `json:"admissionGracePeriod,omitempty"`
	WarmupGracePeriod           Duration `json:"warmupGracePeriod,omitempty"`
	FailureGracePeriod          Duration `json:"failureGracePeriod,omitempty"`
	RetryPausePeriod            Duration `json:"resetPause,omitempty"`
	RetryLimit                  int32    `json:"retryLimit,omitempty"`
	ForcefulDeletionGracePeriod Duration `json:"deletionGracePeriod,omitempty"`
	// GracePeriodMaximum clips all others but SuccessTTL.
	GracePeriodMaximum Duration `json:"gracePeriodCeiling,omitempty"`
	// SuccessTTL is both the default and the ceiling.
	SuccessTTL Duration `json:"successTTLCeiling,omitempty"`
	// RetryDecay is how long all pods must have run for the resets before to be forgiven. 0: never.
	RetryDecay Duration `json:"retryDecay,omitempty"`
	// ObjectTTL is how long a finished AppWrapper of which nothing is deployed is kept. 0: for ever.
	ObjectTTL Duration `json:"objectTTL,omitempty"`
}

// DefaultFaultTolerance are the defaults of the seed document's table.
func DefaultFaultTolerance() FaultTolerance {
	return FaultTolerance{
		AdmissionGracePeriod:        Duration(time.Minute),
		WarmupGracePeriod:           Duration(5 * time.Minute),
		FailureGracePeriod:          Duration(time.Minute),
		RetryPausePeriod:            Duration(90 * time.Second),
		RetryLimit:                  3,
		ForcefulDeletionGracePeriod: Duration(10 * time.Minute),
		GracePeriodMaximum:          Duration(24 * time.Hour),
		SuccessTTL:                  Duration(7 * 24 * time.Hour),
	}
}

// Validate returns all that does not fit together.
func (f FaultTolerance) Validate() error {
	var errs []error
	for _, p := range []struct {
		key   string
		value Duration
	}{
		{"deletionGracePeriod", f.ForcefulDeletionGracePeriod}, {"resetPause", f.RetryPausePeriod},
		{"failureGracePeriod", f.FailureGracePeriod}, {"admissionGracePeriod", f.AdmissionGracePeriod},
		{"warmupGracePeriod", f.WarmupGracePeriod},
	} {
		switch {
		case p.value < 0:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s is negative", p.key, time.Duration(p.value)))
		case p.value > f.GracePeriodMaximum:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s exceeds gracePeriodCeiling, which is %s",
				p.key, time.Duration(p.value), time.Duration(f.GracePeriodMaximum)))
		}
	}
	if f.AdmissionGracePeriod > f.WarmupGracePeriod {
		errs = append(errs, fmt.Errorf("faultTolerance.admissionGracePeriod: %s exceeds warmupGracePeriod, which is %s",
			time.Duration(f.AdmissionGracePeriod), time.Duration(f.WarmupGracePeriod)))
	}
	if f.RetryDecay < 0 || f.ObjectTTL < 0 {
		errs = append(errs, errors.New("faultTolerance: retryDecay and objectTTL are not negative"))
	}
	if f.SuccessTTL <= 0 {
		errs = append(errs, fmt.Errorf("faultTolerance.successTTLCeiling: %s is not positive", time.Duration(f.SuccessTTL)))
	}
	return errors.Join(errs...)
}
