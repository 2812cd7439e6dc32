package rescheduling

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// noted is the maximum number of entries. An entry that is dropped starts again.
const noted = 16384

// observationTimes remembers when a signal was first observed on a pod, for signals that have no time of their own. It is not kept across
// restarts: after a restart, the grace period of a pod starts again.
type observationTimes struct{ first *lru.Cache }

type observationKey struct {
	pod types.UID
	row string
}

func newObservationTimes() *observationTimes { return &observationTimes{lru.New(noted)} }

// since returns when the signal was first observed on the pod.
func (d *observationTimes) since(pod types.UID, row string, now time.Time) time.Time {
	key := observationKey{pod, row}
	if first, found := d.first.Get(key); found {
		return first.(time.Time)
	}
	d.first.Add(key, now)
	return now
}

// recovery is the row of pods that wait for their workload to recover. It is the name of no signal.
const recovery = "\x00recovery"

// markRecovering records that the pod waits for its workload to recover.
func (d *observationTimes) markRecovering(pod types.UID) {
	d.first.Add(observationKey{pod, recovery}, time.Time{})
}

// recovered returns when the recovery that the pod waited for was first observed to be over. It is zero while the workload recovers, and if
// the pod does not wait.
func (d *observationTimes) recovered(pod types.UID, until, now time.Time) time.Time {
	key := observationKey{pod, recovery}
	at, waited := d.first.Get(key)
	switch {
	case !waited || !until.IsZero():
		return time.Time{}
	case at.(time.Time).IsZero():
		d.first.Add(key, now)
		return now
	}
	return at.(time.Time)
}

// forget removes the rows that the pod does not match any more.
func (d *observationTimes) forget(pod types.UID, rows []string) {
	for _, row := range rows {
		d.first.Remove(observationKey{pod, row})
	}
}
