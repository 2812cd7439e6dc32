package worker

// Memory survives a restart of the agent, on a volume that lives as long as the pod. It is saved before a stop takes effect and
// after the store has answered.
type Memory struct {
	Generation int64  `json:"generation"` // generation of the group to which the rest belongs
	Highest    int64  `json:"highest"`    // highest round of the generation that the agent knows
	Entered    int    `json:"entered"`    // highest number of entered units that it has seen in the incarnation EnteredIn; a resize renumbers the units
	EnteredIn  string `json:"enteredIn"`
	Attempt    int64  `json:"attempt"`  // of the newest instance: a later instance has a higher one
	Ran        bool   `json:"ran"`      // an instance of this pod has run in the generation
	DiedIn     int64  `json:"diedIn"`   // the last round in which an instance of this pod ran and died; NoRound if none
	Instance   Known  `json:"instance"` // the newest instance
	Ordered    string `json:"ordered"`
	Finished   string `json:"finished"`       // ID of the instance that exited with code 0 and may have to run again
	Slot       string `json:"slot,omitempty"` // slot that the pod was given; empty if it works in its own, or in none
}

// Known is what the memory has about an instance.
type Known struct {
	ID      string `json:"id"`
	Born    int64  `json:"born"` // as the driver reported it, in Unix microseconds; what was born before is accounted for
	Attempt int64  `json:"attempt"`
	Round   int64  `json:"round"` // the round that it joined; NoRound if none
	// Incarnation is the incarnation of the stored data in which it joined. In another one it joins again before it starts.
	Incarnation string `json:"incarnation"`
	Ran         bool   `json:"ran"` // its program was started
	Saw         bool   `json:"saw"` // it saw its unit started in that round
}

// NoRound stands for no round.
const NoRound int64 = -1

// Fresh returns the memory of a new pod.
func Fresh() Memory { return Memory{DiedIn: NoRound, Instance: Known{Round: NoRound}} }

// enter starts the memory of a generation.
func (m *Memory) enter(generation int64) {
	if m.Generation != generation {
		*m = Memory{Generation: generation, Attempt: m.Attempt, DiedIn: NoRound, Instance: m.Instance, Ordered: m.Ordered, Finished: m.Finished}
		m.Instance.Round, m.Instance.Saw = NoRound, false
	}
}
