package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// forger is a member of the group that forges whatever its store permissions allow it to write: the state, the tables, the
// history and published messages. It cannot write the leader's decisions.
type forger struct {
	*server
	random
	uid  string
	keys rounds.Keys
}

// forge makes a member write a few values.
func (w *world) forge(f Fault) {
	if w.api.current == nil || !w.store.first.up {
		return
	}
	uid := w.api.current.uid
	g := forger{w.store.first, newRandom(w.seed, fmt.Sprint("forger ", f.At)), uid, rounds.KeysOf(uid)}
	w.truth.forged = true
	for range f.Count {
		v := g.look(uid)
		if v == nil {
			break // there is no group, or it is no longer readable
		}
		g.write(v)
		if now := g.view(uid); now != nil {
			w.truth.note(uid, now)
		}
	}
}

// write forges one value, plausible or not.
func (g forger) write(v *view) {
	unit := g.IntN(len(v.Units))
	slot, round := g.slots[g.IntN(len(g.slots))], int64(g.IntN(4))+v.Round
	text := g.text(v.stored.State.String())
	key := []string{g.keys.Holders(v.Generation), g.keys.Joined(v.Level, unit), g.keys.Finished(v.Level, unit), g.keys.History(), g.keys.FirstDeath(), g.keys.State()}[g.IntN(6)]
	switch g.IntN(10) {
	case 0:
		g.tell("writes the state %s", text)
		g.functions.Do("SET", g.keys.State(), text)
	case 1:
		l := g.level(v.Level)
		g.tell("writes the level %s", l)
		_, rest, _ := strings.Cut(v.stored.State.String(), "|")
		g.functions.Do("SET", g.keys.State(), l.String()+"|"+rest)
	case 2:
		g.tell("writes the holder of %s", slot)
		g.field(g.keys.Holders(v.Generation), slot, g.word(v.holders[g.slots[0]]))
	case 3:
		g.tell("has %s join", slot)
		g.field(g.keys.Joined(v.Level, unit), slot, g.word(fmt.Sprintf("%s %d 1", v.joined[slot].id, g.IntN(99))))
	case 4:
		g.tell("has %s finish", slot)
		g.field(g.keys.Finished(v.Level, unit), slot, g.word(v.joined[slot].id))
	case 5:
		line := rounds.Line{Generation: v.Generation, Round: round, OpenedAt: beginning.Add(g.now), Ends: g.chance(50), Slot: slot, Cause: g.word("exit 1")}
		g.tell("writes line %s", line)
		g.field(g.keys.History(), rounds.LinesOf(round, 1)[0], g.word(line.String()))
	case 6:
		g.tell("deletes %s", key)
		g.functions.Do("UNLINK", key)
	case 7:
		g.tell("makes %s something else", key)
		g.functions.Do("UNLINK", key)
		if g.chance(50) {
			g.functions.Do("SET", key, "x")
		} else {
			g.field(key, slot, text)
		}
	case 8:
		o := rounds.Observation{Level: g.level(v.Level)}
		if g.chance(20) {
			o = rounds.Observation{Err: &coordination.ForeignValueError{}}
		}
		g.tell("publishes %+v", o)
		g.publish(g.uid, o)
	default:
		g.tell("wakes the leader")
		g.wakeLeader(g.uid)
	}
}

func (g forger) tell(format string, args ...any) {
	if g.log.on {
		g.note("forger", format, args...)
	}
}

// field writes a field of a hash. A server rejects the write if the key has another type.
func (g forger) field(key, field, text string) {
	if _, err := g.functions.TryDo("HSET", key, field, text); err != nil {
		g.tell("is refused: %v", err)
	}
}

// level returns the level with one field forged.
func (g forger) level(l rounds.Level) rounds.Level {
	switch g.IntN(7) {
	case 0:
		l.Round = []int64{0, l.Round + 1, l.Round + 2, int64(g.shape.Budget), 1 << 40, rounds.MaxCount - 1}[g.IntN(6)]
	case 1:
		l.Seq = []int64{0, l.Seq + 1, rounds.MaxCount - 1}[g.IntN(3)]
	case 2:
		l.Phase = []rounds.Phase{rounds.Active, rounds.OverBudget, rounds.Recreate, rounds.Closed, rounds.Done}[g.IntN(5)]
	case 3:
		l.Started = g.IntN(2)
	case 4:
		l.Entered = g.IntN(2)
	case 5:
		l.Left = []rounds.Units{rounds.NoUnits, "0", "63"}[g.IntN(3)]
	default:
		l.Pause = []time.Duration{0, time.Minute, time.Hour}[g.IntN(3)]
	}
	return l
}

// word returns the given text or an unexpected one.
func (g forger) word(text string) string {
	if g.chance(50) {
		return text
	}
	return g.text(text)
}

// text returns the given text with a few bytes changed, or an entirely different text.
func (g forger) text(text string) string {
	switch g.IntN(4) {
	case 0:
		return strings.Repeat("x", []int{0, 1, rounds.MaxText, rounds.MaxText + 90, 4096}[g.IntN(5)])
	case 1:
		return "\x00 \xff|"
	}
	const bytes = " -0123456789abe.x\n\x00\xff|"
	b := []byte(text + " ")
	for range 1 + g.IntN(3) {
		b[g.IntN(len(b))] = bytes[g.IntN(len(bytes))]
	}
	return string(b)
}

// isQuiet reports whether the JobSet has had no activity for two minutes. With forged values, this is enough to count as settled,
// because a forged value remains until it is read and may keep its group from running.
func (w *world) isQuiet() bool {
	now := activity{orders: w.truth.orders, instances: len(w.truth.instances)}
	if js := w.api.current; js != nil {
		now.epoch, now.charged = js.epoch, js.charged
	}
	if now != w.quiet {
		w.quiet, w.quietFrom = now, w.now
	}
	return w.now-w.quietFrom >= 2*time.Minute
}

// activity is what keeps changing in a group that does not settle. Marks that the leader renews are not included.
type activity struct {
	epoch             epoch.Record
	charged           int32
	orders, instances int
}

// unforgeable lists the invariants that hold regardless of what a member writes, because they depend only on the leader's
// decisions and the API. A member that forges values may restart its own group, and the checks do not limit how often.
var unforgeable = []string{"S7", "S8", "S9", "S11", "S15", "S16", "L1", "L7", "L8"}

// holdsStill reports whether an invariant must hold in this history, which may contain forged values.
func (t *truth) holdsStill(invariant string) bool {
	return !t.forged || slices.Contains(unforgeable, invariant)
}

// forged returns a shape with members that write forged values, in addition to other faults.
func forged(driver Driver) Shape {
	kinds := append(chances(30, Forged), chances(4, WorkerDies, PodDeleted, LeaderCrashes, LeaderPauses, StoreDown, StaleCache, AgentPauses, Deaf)...)
	return shape("forged "+string(driver), workers(driver, 1, 3), kinds, 6)
}
