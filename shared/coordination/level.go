package coordination

import (
	"fmt"
	"strconv"
	"strings"
)

// Phase is what a group is doing.
type Phase string

const (
	Forming    Phase = "Forming"    // no step has entered yet: waits for all slots of the first one to join
	Running    Phase = "Running"    // all slots of the steps that have entered are in sync
	Restarting Phase = "Restarting" // instances behind the desired round are being restarted
	Recovering Phase = "Recovering" // the store lost data and collects what the agents know
	Terminal   Phase = "Terminal"   // a worker failed and no restart is left; nobody is killed
	Recreating Phase = "Recreating" // not recoverable in place; the leader recreates the Jobs
	Closed     Phase = "Closed"     // suspended
	Completed  Phase = "Completed"  // all that is needed has finished; nobody is restarted any more
)

var phases = map[Phase]bool{
	Forming: true, Running: true, Restarting: true, Recovering: true, Terminal: true, Recreating: true, Closed: true,
	Completed: true,
}

// Level is all an agent needs to act. It is what is broadcast and what a read returns, so that a message is only ever a
// hint to look at the newest state.
type Level struct {
	Incarnation string // random, new whenever the store had to start over; Generation counts lifts within it
	Generation  int64
	Epoch       int64
	Round       int64 // the desired total restart count
	Phase       Phase
	Seq         int64  // grows with every change of the level
	Steps       string // a token for each step, see tokens.go; ask it with Entered, Lifted and Left
	Delay       int64  // how long an instance at a barrier waits after its round was lifted, in milliseconds
}

// Older tells whether l is behind other within the same incarnation. Levels of different incarnations do not compare.
func (l Level) Older(other Level) bool {
	return l.Incarnation == other.Incarnation && l.Seq < other.Seq
}

// SameLife tells whether joins made under one level count under the other.
func (l Level) SameLife(other Level) bool {
	return l.Incarnation == other.Incarnation && l.Generation == other.Generation && l.Epoch == other.Epoch
}

// String is the wire format of a level: fields separated by a blank, the protocol version first.
func (l Level) String() string {
	return fmt.Sprintf("%s %s %d %d %d %s %d %s %d",
		Version, l.Incarnation, l.Generation, l.Epoch, l.Round, l.Phase, l.Seq, l.Steps, l.Delay)
}

// ParseLevel reads a level from the wire. The error quotes what was read: it is a foreign value, never a trigger.
func ParseLevel(s string) (Level, error) {
	f := strings.Fields(s)
	if len(f) != 9 || f[0] != Version {
		return Level{}, fmt.Errorf("not a level of protocol version %s: %.80q", Version, s)
	}
	l := Level{Incarnation: f[1], Phase: Phase(f[5]), Steps: f[7]}
	for field, value := range map[*int64]string{&l.Generation: f[2], &l.Epoch: f[3], &l.Round: f[4], &l.Seq: f[6], &l.Delay: f[8]} {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > MaxCount {
			return Level{}, fmt.Errorf("level %.80q: %q is not a count", s, value)
		}
		*field = n
	}
	if !phases[l.Phase] {
		return Level{}, fmt.Errorf("level %.80q: unknown phase %q", s, l.Phase)
	}
	if !areTokens(l.Steps) {
		return Level{}, fmt.Errorf("level %.80q: %q are no steps", s, l.Steps)
	}
	return l, nil
}
