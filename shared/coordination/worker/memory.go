package worker

// Memory is the state that survives restarts of the agent. It is stored on a volume with the lifetime of the pod, and is saved
// before an instance is stopped and after the store has answered.
type Memory struct {
	Generation int64  `json:"generation"` // the group's generation to which the other fields belong
	Highest    int64  `json:"highest"`    // highest round of the generation that the agent knows
	Entered    int    `json:"entered"`    // highest number of entered units seen in EnteredIn, because a resize renumbers units and starts a new incarnation
	EnteredIn  string `json:"enteredIn"`
	Attempt    int64  `json:"attempt"`  // attempt of the newest instance; each instance has a higher one than the instance before it
	Ran        bool   `json:"ran"`      // an instance of this pod has run in the generation
	DiedIn     int64  `json:"diedIn"`   // last round in which an instance of this pod ran and died; NoRound if none
	Instance   Known  `json:"instance"` // the newest instance
	Ordered    string `json:"ordered"`
	Finished   string `json:"finished"`       // ID of the instance that exited with code 0 and may have to run again
	Slot       string `json:"slot,omitempty"` // slot assigned to the pod; empty if it works in its own slot or in none
}

// Known is the part of an instance's state that is kept in Memory.
type Known struct {
	ID      string `json:"id"`
	Born    int64  `json:"born"` // creation time reported by the driver, in Unix microseconds; earlier instances have been handled
	Attempt int64  `json:"attempt"`
	Round   int64  `json:"round"` // round that it joined; NoRound if none
	// Incarnation is the incarnation of the stored data in which it joined. If the incarnation changes, the instance joins again
	// before it starts.
	Incarnation string `json:"incarnation"`
	Ran         bool   `json:"ran"` // its program was started
	Saw         bool   `json:"saw"` // the agent observed that its unit was started in that round
}

// NoRound means that there is no round.
const NoRound int64 = -1

// Fresh returns the memory for a new pod.
func Fresh() Memory { return Memory{DiedIn: NoRound, Instance: Known{Round: NoRound}} }

// enter resets the memory for a new generation.
func (m *Memory) enter(generation int64) {
	if m.Generation != generation {
		*m = Memory{Generation: generation, Attempt: m.Attempt, DiedIn: NoRound, Instance: m.Instance, Ordered: m.Ordered, Finished: m.Finished}
		m.Instance.Round, m.Instance.Saw = NoRound, false
	}
}
