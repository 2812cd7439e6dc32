package signals

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// AboutDevices tells whether any signal is about taints of devices.
func (t Table) AboutDevices() bool {
	for i := range t {
		if t[i].DeviceTaint != nil && t[i].Effect == Evacuate {
			return true
		}
	}
	return false
}

// Tainted returns the signal that the taints of a pod's devices fulfil, if there is one; and otherwise when there will be one, zero if not
// by itself. Its hold-down counts from when the taint was added.
func (t Table) Tainted(taints []resourcev1.DeviceTaint, now time.Time) (found *Signal, next time.Time) {
	for i := range t {
		s := &t[i]
		if s.DeviceTaint == nil || s.Effect != Evacuate {
			continue
		}
		for _, taint := range taints {
			if !s.DeviceTaint.matches(corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)}) {
				continue
			}
			if taint.TimeAdded == nil || now.Sub(taint.TimeAdded.Time) >= s.HoldDown {
				return s, time.Time{}
			}
			next = earliest(next, taint.TimeAdded.Add(s.HoldDown))
		}
	}
	return nil, next
}
