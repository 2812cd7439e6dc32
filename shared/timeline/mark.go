package timeline

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

// ofMark is what goes on at this moment and has no place in a history yet.
func ofMark(o Object, known []Entry, now time.Time) []Entry {
	state, found := recovering.Of(o.Annotations)
	if !found || !state.Live(now) {
		return nil
	}
	for _, e := range known {
		if e.Ongoing && e.Rung == state.Rung {
			return nil
		}
	}
	e := Entry{At: now, Rung: state.Rung, Object: o.String(), What: byRung[state.Rung], Cause: state.Reason, Ongoing: true, Limit: -1}
	if c, is := o.condition(recovering.Condition); is {
		e.At, e.Took = c.Since, max(0, now.Sub(c.Since))
	}
	if e.What == "" {
		e.What = Noted
	}
	return []Entry{e}
}

var byRung = map[int]What{
	recovering.RungProcess: InPlace, recovering.RungGroup: InPlace, recovering.RungElastic: Replaced, recovering.RungMove: Moved,
	recovering.RungRecreate: Recreation, recovering.RungReset: Reset,
}
