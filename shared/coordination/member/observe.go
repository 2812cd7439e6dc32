package member

import (
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func (o Observed) apply(s *State) {
	if s.fenced {
		return
	}
	s.beginning = false
	s.notePod(o.PodBorn)
	workers := slices.SortedFunc(slices.Values(o.Workers), byLife)
	seen := map[string]bool{}
	for _, w := range workers {
		seen[w.ID] = true
		s.observe(w)
	}
	s.noteAbsent(seen)
	s.remove(workers)
}

// notePod keeps the earliest birth: a pod does not grow younger by a new sandbox.
func (s *State) notePod(born int64) {
	if s.memory.PodBorn == 0 || born < s.memory.PodBorn {
		s.memory.PodBorn = born
	}
}

func (s *State) observe(w Worker) {
	l := s.find(w.ID)
	if l == nil {
		if w.Born <= s.reported && !w.Running {
			return
		}
		l = s.add(s.born(w))
	}
	l.present, l.absent, l.lived = true, 0, l.lived || w.Running
	s.noteStart(l, w)
	if l.lifted && w.Running {
		l.signs.note(w.Progress, s.config.Progress.every(), s.now)
	}
	if !w.Running && !l.exited {
		s.exit(l, w)
	}
}

// byLife orders what has exited before what runs, and by birth within.
func byLife(a, b Worker) int {
	if a.Running != b.Running {
		if b.Running {
			return -1
		}
		return 1
	}
	return int(min(1, max(-1, a.Born-b.Born)))
}

// born is an instance with a birth after all that are known: what runs is the newest, and the node's clock may have gone
// back since the one before was created.
func (s *State) born(w Worker) coordination.Instance {
	i := w.Instance
	if !w.Running {
		return i
	}
	i.Born = max(i.Born, s.reported+1)
	for _, l := range s.lives {
		i.Born = max(i.Born, l.Born+1)
	}
	return i
}

// outdo gives the newest instance a birth after the one that the store has for the slot, which was not heard of here: the
// start-up file was lost, and the node's clock has gone back. It tells whether the report is to be repeated at once. More than
// once it is not, whatever the store says.
func (s *State) outdo(l *life, newest int64) bool {
	if newest <= l.Born || l.Born <= s.reported || !l.lived || l != s.lives[len(s.lives)-1] {
		return false
	}
	l.Born = min(newest+1, coordination.MaxCount)
	s.log(Warning, "the store knows a later birth: the node's clock has gone back, this instance is the newest", "instance", l.ID)
	if l.outdid {
		return false
	}
	l.outdid, l.under, l.again = true, coordination.Level{}, s.now
	return true
}

func (s *State) exit(l *life, w Worker) {
	// A runtime that does not know the time may give one before 1970, which the store would refuse with the whole report.
	l.exited, l.code, l.failedAt, l.detectedAt = true, w.ExitCode, max(0, w.FinishedAt), s.now.UnixMilli()
	l.exitSeen = s.now
	l.signal, l.reason = w.Signal, w.Reason
	if l.order.hang { // it failed when it was last seen to move
		l.failedAt, l.detectedAt = l.signs.at.UnixMilli(), l.signs.found.UnixMilli()
	}
	s.log(Info, "worker exited", "instance", l.ID, "exitCode", l.code, "ordered", l.ordered(), "round", l.round,
		"failedAt", l.failedAt, "detectedAfterMs", l.detectedAt-l.failedAt)
	if s.config.Barrier {
		s.endAtBarrier(l)
	} else if l.ordered() && (l.code == 0 || s.config.RemoveStopped) {
		// restartPolicy OnFailure would take an exit 0 for success and start nothing.
		s.removing[l.ID] = true
	}
}

// noteAbsent finds the instances whose record is gone. With a successor they are dead; without one a single look is not
// believed, because missing data must never restart anybody. The driver of a barrier knows its own children.
func (s *State) noteAbsent(seen map[string]bool) {
	for i, l := range s.lives {
		if l.exited || seen[l.ID] {
			continue
		}
		l.present = false
		l.absent++
		if l.absent > 1 || i < len(s.lives)-1 || s.config.Barrier {
			s.exit(l, Worker{ExitCode: lostExitCode, FinishedAt: s.now.UnixMilli()})
		} else {
			s.do(Look{})
		}
	}
}

// remove asks for the removal of the records that are to go, and of all that exited before them, because an older one that is kept
// would stand for the newest. It repeats at each look until they are gone. What exited after them stays: that of a worker that has
// finished says so to the kubelet, and that of one that failed has its log.
func (s *State) remove(workers []Worker) {
	var exited []string // by birth
	wanted := 0
	for _, w := range workers {
		if w.Running {
			continue
		}
		exited = append(exited, w.ID)
		if s.removing[w.ID] {
			wanted = len(exited)
		}
	}
	if wanted == 0 {
		clear(s.removing)
		return
	}
	s.do(Remove{exited[:wanted]})
}
