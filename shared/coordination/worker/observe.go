package worker

import "slices"

func (o Observed) apply(s *State) {
	s.preparing = false
	seen := map[string]bool{}
	processes := slices.SortedFunc(slices.Values(o.Processes), byBirth)
	for _, p := range processes {
		seen[p.ID] = true
		s.observe(p)
	}
	s.noteAbsent(seen)
	s.remove(processes)
}

// byBirth orders exited processes before running ones, and otherwise by birth.
func byBirth(a, b Process) int {
	if a.Running != b.Running {
		if b.Running {
			return -1
		}
		return 1
	}
	return int(min(1, max(-1, a.Born-b.Born)))
}

func (s *State) observe(p Process) {
	i := s.find(p.ID)
	if i == nil {
		if !p.Running && p.Born <= s.accounted {
			return
		}
		i = s.add(p.ID, s.born(p))
	}
	i.present, i.absent = true, 0
	if s.config.Barrier && i.Ran && p.Running {
		i.signs.note(p.Progress, s.config.Progress.every(), s.now)
	}
	if !p.Running && !i.exited {
		s.exit(i, p)
	}
}

// born returns a process's birth time. A running process gets a later one than all known processes, because the node's clock may
// have been set back.
func (s *State) born(p Process) int64 {
	if !p.Running {
		return p.Born
	}
	born := max(p.Born, s.accounted+1)
	for _, i := range s.instances {
		born = max(born, i.Born+1)
	}
	return born
}

func (s *State) exit(i *instance, p Process) {
	// A runtime that does not know when the process ended may report a time before 1970.
	i.exited, i.code, i.signal, i.reason = true, p.ExitCode, p.Signal, p.Reason
	i.failedAt, i.detectedAt = max(0, p.FinishedAt), s.now.UnixMilli()
	if i.order.hang { // a hang counts as having failed at the last sign of progress
		i.failedAt, i.detectedAt = i.signs.at.UnixMilli(), i.signs.found.UnixMilli()
	}
	s.log(info, "worker exited", "instance", i.ID, "exitCode", i.code, "ordered", i.ordered(), "round", i.Round,
		"failedAt", i.failedAt, "detectedAfterMs", i.detectedAt-i.failedAt)
	s.endOf(i)
	s.noteDeath(i)
	if !s.config.Barrier && i.ordered() && (i.code == 0 || s.config.RemoveStopped) {
		// restartPolicy OnFailure would treat exit code 0 as success and not restart the container.
		s.removing[i.ID] = true
	}
}

// noteAbsent handles instances whose record is gone. If there is a newer instance, they are dead. If there is none, a single
// observation without the record is not enough evidence, because missing data must never cause a restart. With a barrier, it is
// enough, because the driver knows its own children.
func (s *State) noteAbsent(seen map[string]bool) {
	for n, i := range s.instances {
		if i.exited || seen[i.ID] {
			continue
		}
		i.present = false
		i.absent++
		if i.absent > 1 || n < len(s.instances)-1 || s.config.Barrier {
			s.exit(i, Process{ExitCode: lostExitCode, FinishedAt: s.now.UnixMilli()})
		} else {
			s.do(Observe{})
		}
	}
}

// remove requests the removal of the records in s.removing and of all older records of exited instances, because one of those
// would otherwise become the newest. It repeats the request after each observation until the records are gone.
func (s *State) remove(processes []Process) {
	var exited []string // by birth
	wanted := 0
	for _, p := range processes {
		if p.Running {
			continue
		}
		exited = append(exited, p.ID)
		if s.removing[p.ID] {
			wanted = len(exited)
		}
	}
	if wanted == 0 {
		clear(s.removing)
		return
	}
	s.do(Remove{exited[:wanted]})
}
