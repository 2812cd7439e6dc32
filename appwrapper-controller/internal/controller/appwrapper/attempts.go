package appwrapper

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
)

// Bounds of the history, as the definition has them.
const (
	mostAttempts  = 16
	mostNodes     = 16
	longestReason = 256
)

// attemptNumber is that of the attempt that goes on, or was the last.
func attemptNumber(status *v1beta2.AppWrapperStatus) int32 {
	if n := len(status.Attempts); n > 0 {
		return status.Attempts[n-1].Number
	}
	return status.Retries + status.Evacuations + 1
}

// recordAttempt keeps the history: it begins, becomes ready and ends attempts.
func (s *scope) recordAttempt(d *policy.Decision) {
	now := metav1.NewTime(s.facts.Now)
	if d.Begins {
		number := s.facts.Retries + s.facts.Evacuations + 1
		if len(s.status.Attempts) > 0 {
			number = attemptNumber(s.status) + 1
		}
		s.status.Attempts = append(s.status.Attempts, v1beta2.Attempt{Number: number, StartTime: now})
	}
	if len(s.status.Attempts) == 0 && (d.BecameReady || d.Ends != nil) { // begun by the published controller
		s.status.Attempts = []v1beta2.Attempt{{Number: attemptNumber(&s.aw.Status), StartTime: metav1.NewTime(s.facts.Clocks.AttemptStart)}}
	}
	if extra := len(s.status.Attempts) - mostAttempts; extra > 0 {
		s.status.Attempts = s.status.Attempts[extra:]
	}
	if len(s.status.Attempts) == 0 {
		return
	}
	last := &s.status.Attempts[len(s.status.Attempts)-1]
	if d.BecameReady && last.ReadyTime == nil {
		last.ReadyTime = &now
	}
	if d.Ends != nil && last.EndTime == nil {
		last.EndTime, last.Reason, last.Message = &now, d.Ends.Reason, cut(d.Ends.Message, longestReason)
		last.Nodes, last.Evacuation = d.Ends.Nodes[:min(len(d.Ends.Nodes), mostNodes)], d.Ends.Evacuation
	}
}

// leftNodes are those that the workload was moved away from not longer than the time ago.
func leftNodes(status *v1beta2.AppWrapperStatus, within time.Duration, now time.Time) []string {
	var nodes []string
	for _, a := range status.Attempts {
		if a.Evacuation && a.EndTime != nil && now.Sub(a.EndTime.Time) < within {
			nodes = append(nodes, a.Nodes...)
		}
	}
	return nodes
}

func cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "")
}
