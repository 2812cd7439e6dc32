package rescheduling

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// noted bounds what a diary holds. What falls out of it begins anew.
const noted = 16384

// diary remembers since when something is wrong with a pod, where the pod does not say it. It does not outlive the process: after a
// restart a pod has its time once more.
type diary struct{ first *lru.Cache }

type page struct {
	pod types.UID
	row string
}

func newDiary() *diary { return &diary{lru.New(noted)} }

// since is when the trouble was first seen.
func (d *diary) since(pod types.UID, row string, now time.Time) time.Time {
	key := page{pod, row}
	if first, found := d.first.Get(key); found {
		return first.(time.Time)
	}
	d.first.Add(key, now)
	return now
}

// recovery is the row of pods that wait for their workload to recover.
const recovery = "\x00recovery"

// waits notes that the pod waits for its workload to recover.
func (d *diary) waits(pod types.UID) { d.first.Add(page{pod, recovery}, time.Time{}) }

// recovered is when the recovery that the pod waited for was first seen to be over; zero if it is not, or nobody waits.
func (d *diary) recovered(pod types.UID, until, now time.Time) time.Time {
	key := page{pod, recovery}
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

// well ends the pages of rows that the pod does not match any more.
func (d *diary) well(pod types.UID, rows []string) {
	for _, row := range rows {
		d.first.Remove(page{pod, row})
	}
}
