package simulation

import "time"

// Shapes are what the seeds are spread over.
func Shapes() []Shape { return []Shape{small()} }

func workers(driver Driver, jobs, pods int64) []Entry {
	return []Entry{{Name: "w", Jobs: jobs, Pods: pods, Driver: driver}}
}

func small() Shape {
	return Shape{
		Name: "small", Entries: workers(CRI, 1, 3), Budget: 20, Timeout: 60 * time.Second, Grace: 5 * time.Second,
		Faults: everything(), Most: 6, Start: 5 * time.Second, Horizon: 45 * time.Second,
	}
}

// everything that can go wrong, the likely more often.
func everything() []Chance {
	var all []Chance
	add := func(weight int, kinds ...Kind) {
		for _, k := range kinds {
			all = append(all, Chance{k, weight})
		}
	}
	add(8, WorkerDies)
	add(4, PeersDie, DiesAgain, DiesStarting, PodDeleted, AgentCrashes, AgentFuse, StoreBack, StoreWiped)
	add(2, OutOfMemory, Unkillable, Polite, RuntimeRefuses, BlindRuntime, LateTermNotice, AllDie, WrongClock, StoreClock,
		NodeCrashes, NodeCutOff, Zombie, PodForced, PodFails, PodDuplicated, JobRecreated, AgentForgets, AgentPauses,
		RequestsLost, RepliesLost, Duplicates, SlowMessages, Deaf, HalfOpen, AllDeaf, StoreDown, ReplicaBehind, TwoPrimaries,
		LeaderCrashes, LeaderFuse, LeaderPauses, LeadersGone, LeaderCut, StaleCache, Controller, Suspended, Recreated,
		PolicyRestart)
	add(1, WorkerFinishes)
	return all
}
