package worker

// Memory is what survives a restart of the agent, on a volume that lives as long as the pod. It is saved before a stop takes
// effect and after the store has answered.
type Memory struct {
	Generation int64  `json:"generation"` // of the group, that the rest is about
	Highest    int64  `json:"highest"`    // round of the generation that the agent has heard of
	Entered    int    `json:"entered"`    // most units that it has seen entered in the incarnation EnteredIn: a resize numbers units anew
	EnteredIn  string `json:"enteredIn"`
	Attempt    int64  `json:"attempt"`  // of the newest instance
	Ran        bool   `json:"ran"`      // an instance of this pod has run in the generation
	DiedIn     int64  `json:"diedIn"`   // the last round in which an instance of this pod ran and died; NoRound
	Instance   Known  `json:"instance"` // the newest instance
	Ordered    string `json:"ordered"`
	Finished   string `json:"finished"` // ID of the instance that exited 0 and may have to run again
}

// Known is what is remembered of an instance.
type Known struct {
	ID      string `json:"id"`
	Born    int64  `json:"born"` // as the driver said, Unix microseconds; what was born before is accounted for
	Attempt int64  `json:"attempt"`
	Round   int64  `json:"round"` // that it joined; NoRound
	// Incarnation of the stored data in which it joined: in another one it joins again before it starts.
	Incarnation string `json:"incarnation"`
	Ran         bool   `json:"ran"` // its program was started
	Saw         bool   `json:"saw"` // its unit was seen started in that round
}

// NoRound stands for no round.
const NoRound int64 = -1

// Fresh is the memory of a new pod.
func Fresh() Memory { return Memory{DiedIn: NoRound, Instance: Known{Round: NoRound}} }

// enter begins the memory of a generation.
func (m *Memory) enter(generation int64) {
	if m.Generation != generation {
		*m = Memory{Generation: generation, Attempt: m.Attempt, DiedIn: NoRound, Instance: m.Instance, Ordered: m.Ordered, Finished: m.Finished}
		m.Instance.Round, m.Instance.Saw = NoRound, false
	}
}
