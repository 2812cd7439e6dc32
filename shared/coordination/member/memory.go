package member

import "github.com/holdfast-project/holdfast/shared/coordination"

// Memory is what survives a restart of the agent, on a volume that lives as long as the pod. It serves two ends: to
// report deaths that fell into the agent's absence, and to tell a store that lost its data what was known.
//
// It is written after the store has answered. A crash between the two is harmless: the next agent joins the same
// instance again with an older memory, which the store knows already and answers with the same round. Only if the store
// loses its data in the same moment does the older memory count, and then as one restart too many at worst.
type Memory struct {
	PodBorn     int64  // Unix microseconds; kept because a new sandbox would make the pod look younger
	Incarnation string // of the store that gave the round
	Epoch       int64  // 0 before the first round
	Round       int64  // the last round the slot was in, or coordination.NoRound
	Running     bool   // that round was seen Running
	Entered     bool   // the slot's step was seen to have entered, in that epoch
	Instances   int64  // how many instances the slot had in that round
	Instance    coordination.Instance
	Ordered     string // ID of the instance that was last ordered to stop
	Finished    string // ID of the instance that finished by itself and may have to run again (barrier)
}

// Fresh is the memory of a new pod.
func Fresh() Memory { return Memory{Round: coordination.NoRound} }

func (m Memory) holds(id string) bool { return m.Round >= 0 && m.Instance.ID == id }

// seen is the memory as the store is told it, for one instance.
func (m Memory) seen(id string) coordination.Seen {
	return coordination.Seen{
		Epoch: m.Epoch, Round: m.Round, Holds: m.holds(id), Running: m.Running, Entered: m.Entered,
		Instances: m.Instances,
	}
}

// assign notes the round that the store gave to an instance.
func (m *Memory) assign(i coordination.Instance, l coordination.Level, round int64) {
	m.Entered = m.Entered && m.Epoch == l.Epoch
	if l.Epoch != m.Epoch || round != m.Round {
		m.Epoch, m.Round, m.Running, m.Instances = l.Epoch, round, false, 0
		m.Instance = coordination.Instance{}
	}
	if m.Instance.ID != i.ID {
		m.Instance = i
		m.Instances++
	}
	m.Incarnation = l.Incarnation
}
