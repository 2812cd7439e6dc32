package policy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Clocks are the times from which grace periods count; zero if one has not begun.
type Clocks struct {
	AttemptStart, NotReadySince, UnhealthySince, DeletionStart, DeletionEnd, Finished time.Time
}

// ReadClocks takes the clocks from a status. Where there are none, because the published controller wrote the status, or because its
// definition is installed and drops them, the conditions that were written at the time stand in.
func ReadClocks(status *v1beta2.AppWrapperStatus) Clocks {
	if c := status.Clocks; c != nil {
		return Clocks{
			AttemptStart: at(c.AttemptStart), NotReadySince: at(c.NotReadySince), UnhealthySince: at(c.UnhealthySince),
			DeletionStart: at(c.DeletionStart), DeletionEnd: at(c.DeletionEnd), Finished: at(c.Finished),
		}
	}
	since := func(kind v1beta2.AppWrapperCondition, to metav1.ConditionStatus) time.Time {
		c := meta.FindStatusCondition(status.Conditions, string(kind))
		if c == nil || c.Status != to {
			return time.Time{}
		}
		return c.LastTransitionTime.Time
	}
	clocks := Clocks{
		AttemptStart:   since(v1beta2.ResourcesDeployed, metav1.ConditionTrue),
		UnhealthySince: since(v1beta2.Unhealthy, metav1.ConditionTrue),
		DeletionStart:  since(v1beta2.DeletingResources, metav1.ConditionTrue),
		DeletionEnd:    since(v1beta2.ResourcesDeployed, metav1.ConditionFalse),
	}
	switch status.Phase {
	case v1beta2.Succeeded: // the quota was given back at that moment
		clocks.Finished = since(v1beta2.QuotaReserved, metav1.ConditionFalse)
	case v1beta2.Failed: // what it failed of
		clocks.Finished = clocks.UnhealthySince
	}
	return clocks
}

// Write is what ReadClocks reads.
func (c Clocks) Write() *v1beta2.Clocks {
	if c == (Clocks{}) {
		return nil
	}
	return &v1beta2.Clocks{
		AttemptStart: micro(c.AttemptStart), NotReadySince: micro(c.NotReadySince), UnhealthySince: micro(c.UnhealthySince),
		DeletionStart: micro(c.DeletionStart), DeletionEnd: micro(c.DeletionEnd), Finished: micro(c.Finished),
	}
}

func at(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func micro(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return &metav1.MicroTime{Time: t}
}
