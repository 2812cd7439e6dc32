package simulation

import (
	"slices"
	"time"
)

// Shapes returns the shapes over which the seeds are spread. Each history has a few random faults of the kinds in its shape.
func Shapes() []Shape {
	return []Shape{
		shape("everything", workers(CRI, 1, 3), everything(), 6),
		shape("two", workers(CRI, 1, 2), everything(), 4),
		shape("jobs", workers(CRI, 2, 2), everything(), 4),
		shape("five", workers(CRI, 1, 5), everything(), 3),
		neutral(CRI), mild(), poor(), hasty(), leadership(), storms(CRI),
		shape("exec", workers(Exec, 1, 3), everything(), 6), neutral(Exec), storms(Exec),
		shape("mixed", mixed(), everything(), 5), shape("steps", steps(Exec), everything(), 5),
		shape("steps without a barrier", steps(CRI), everything(), 4), hangs(), stuck(),
		repairs(CRI), repairs(Exec), resized(CRI), resized(Exec), endless(CRI), endless(Exec), absent(CRI), absent(Exec), forged(CRI), forged(Exec), clocksApart(),
		withSpares("everything", workers(Exec, 1, 3), 1, everything(), 6), withSpares("two", workers(Exec, 1, 2), 2, everything(), 5),
		withSpares("jobs", workers(Exec, 2, 2), 1, everything(), 5), withSpares("steps", steps(Exec), 1, everything(), 5),
		withSpares("losses", workers(Exec, 1, 3), 2, lossKinds(), 8), sparesIn(storms(Exec), 1), sparesIn(repairs(Exec), 1),
		relayed(shape("everything", workers(Exec, 1, 3), everything(), 5), relayKinds()), relayed(shape("two jobs", workers(CRI, 2, 2), everything(), 4), relayKinds()),
		relayed(storms(Exec), relayKinds()), relayed(neutral(Exec), chances(6, RelayIdle, RelayLate, RelayHangs)), relayed(repairs(Exec), relayKinds()),
		relayed(withSpares("losses", workers(Exec, 1, 3), 1, lossKinds(), 6), relayKinds()),
		resizedSpares(), sparesIn(endless(Exec), 1), sparesIn(forged(Exec), 1), sparesIn(neutral(Exec), 1),
	}
}

func workers(driver Driver, jobs, pods int64) []Entry {
	return []Entry{{Name: "w", Jobs: jobs, Pods: pods, Driver: driver}}
}

// mixed returns one replicatedJob for each driver.
func mixed() []Entry {
	return []Entry{{Name: "w", Jobs: 1, Pods: 2, Driver: Exec}, {Name: "x", Jobs: 1, Pods: 2, Driver: CRI}}
}

// steps returns replicatedJobs that start one after another.
func steps(driver Driver) []Entry {
	return []Entry{{Name: "w", Jobs: 1, Pods: 1, Driver: Exec}, {Name: "x", Jobs: 1, Pods: 2, Driver: driver, Step: 1}}
}

// shape returns a shape with the settings of a typical JobSet.
func shape(name string, entries []Entry, faults []Chance, most int) Shape {
	return Shape{
		Name: name, Entries: entries, Budget: 20, Timeout: 60 * time.Second, Forming: 30 * time.Minute, Grace: 5 * time.Second,
		Faults: faults, Most: most, Start: 5 * time.Second, Horizon: 35 * time.Second,
	}
}

// withSpares returns a shape in which each entry has n spares.
func withSpares(name string, entries []Entry, n int64, faults []Chance, most int) Shape {
	return sparesIn(shape(name, entries, faults, most), n)
}

// relayed returns the shape with relays, each of which serves four members including itself, and with additional faults.
func relayed(s Shape, faults []Chance) Shape {
	s.Name += " with relays"
	s.Relays, s.Faults = 4, append(slices.Clone(s.Faults), faults...)
	return s
}

// relayKinds returns faults that make relays die, do nothing or fall behind while workers die.
func relayKinds() []Chance {
	return append(chances(8, RelayDies, RelayIdle, RelayLate, RelayHangs), chances(12, WorkerDies)...)
}

func sparesIn(s Shape, n int64) Shape {
	s.Name += " with spares"
	s.Entries = slices.Clone(s.Entries)
	for i := range s.Entries {
		s.Entries[i].Spares = n
	}
	return s
}

// lossKinds returns faults in which pods are lost, individually and together, along with failures of leaders and data loss
// in the store.
func lossKinds() []Chance {
	return slices.Concat(chances(10, PodDeleted, PodFails, PodForced, NodeCrashes, Zombie),
		chances(4, NodeCutOff, JobRecreated, StoreBack, StoreWiped, ReplicaBehind, TwoPrimaries, LeaderCrashes, LeaderFuse, LeaderPauses, StaleCache, WorkerDies, AgentForgets, AgentFuse))
}

// neutral returns a shape with faults that affect everything that supervises workers, but not the workers (S12).
func neutral(driver Driver) Shape {
	s := shape("neutral "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(2, StoreWiped, StoreBack)...), 6)
	s.Neutral, s.InPlace = true, true
	s.Timeout = 10 * time.Minute // after a third of it, the leader considers a pod unhealthy if its agent is slow to rejoin an empty store
	return s
}

// mild returns a shape with workers that die occasionally, and no faults that prevent in-place restarts (L2).
func mild() Shape {
	s := shape("mild", workers(CRI, 1, 3), append(withoutHarm(), chances(12, WorkerDies, PeersDie)...), 3)
	s.Timeout, s.RemoveStopped, s.InPlace = 10*time.Minute, true, true
	return s
}

// repairs returns a shape with lost, stuck or fenced pods. Each of them is replaced individually (L2).
func repairs(driver Driver) Shape {
	s := shape("repairs "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(15, PodDeleted, PodStuck, PodFenced)...), 8)
	s.Timeout, s.RemoveStopped, s.InPlace = 3*time.Minute, true, true
	return s
}

// resized returns a shape with Jobs that are added and removed, and faults that need a restart.
func resized(driver Driver) Shape {
	kinds := append(harmless(driver), chances(6, WorkerDies, PodDeleted, StoreBack, StoreWiped)...)
	return shape("resized "+string(driver), workers(driver, 2, 1), append(kinds, chances(25, Resized)...), 6)
}

// resizedSpares also changes the number of spares, while pods are lost.
func resizedSpares() Shape {
	s := sparesIn(resized(Exec), 1)
	s.Faults = append(s.Faults, append(chances(25, SparesResized), chances(12, PodDeleted, PodFails)...)...)
	return s
}

// poor returns a shape with a small budget that is soon used up.
func poor() Shape {
	kinds := append(chances(6, WorkerDies, PeersDie, DiesAgain, DiesStarting, PodDeleted), chances(2, Suspended, PolicyRestart,
		LeaderPauses, LeadersGone, StaleCache, LeaderFuse, Controller, WorkerFinishes, Unkillable)...)
	s := shape("poor", workers(CRI, 1, 2), kinds, 6)
	s.Budget = 2
	return s
}

// hasty returns a shape with a timeout that hardly any restart meets.
func hasty() Shape {
	s := shape("hasty", workers(CRI, 1, 3), append(everything(), chances(15, WorkerDies, PeersDie, LeaderSlow)...), 6)
	s.Timeout, s.RemoveStopped = 1500*time.Millisecond, true
	return s
}

// clocksApart returns a shape with node and store clocks that jump by minutes, and workers that die.
func clocksApart() Shape {
	kinds := append(chances(12, WrongClock, StoreClock), chances(8, WorkerDies, PodDeleted, PeersDie, StoreWiped, AgentCrashes)...)
	return shape("clocks", mixed(), kinds, 7)
}

// leadership returns a shape with concurrent leaders and leaders with stale data.
func leadership() Shape {
	kinds := append(chances(8, LeaderPauses, StaleCache, Suspended, WorkerDies, PodDeleted, PodFails),
		chances(3, LeaderFuse, LeaderCrashes, LeaderCut, PolicyRestart, Recreated, Controller, NodeCrashes)...)
	return shape("leadership", workers(CRI, 1, 2), kinds, 7)
}

// storms returns a shape with store and network faults.
func storms(driver Driver) Shape {
	kinds := append(chances(4, StoreBack, ReplicaBehind, StoreWiped, TwoPrimaries, WorkerDies, AgentFuse, AgentForgets),
		chances(2, PeersDie, DiesStarting, StoreDown, RequestsLost, RepliesLost, Duplicates, SlowMessages, Deaf, HalfOpen,
			AllDeaf, AgentCrashes, AgentPauses, PodDeleted, StoreClock, LeadersGone)...)
	return shape("storms "+string(driver), workers(driver, 1, 3), kinds, 7)
}

func chances(weight int, kinds ...Kind) []Chance {
	var list []Chance
	for _, k := range kinds {
		list = append(list, Chance{k, weight})
	}
	return list
}

// withoutHarm returns the faults that do not affect workers.
func withoutHarm() []Chance {
	return chances(2, AgentCrashes, AgentFuse, AgentPauses, RequestsLost, RepliesLost, Duplicates, SlowMessages, Deaf, HalfOpen,
		AllDeaf, StoreDown, StoreClock, WrongVersion, BlindRuntime, LeaderCrashes, LeaderFuse, LeaderPauses, LeadersGone, LeaderCut, LeaderSlow, StaleCache,
		Controller)
}

// everything returns nearly all kinds of faults; likely kinds have a higher weight.
func everything() []Chance {
	return slices.Concat(withoutHarm(), chances(8, WorkerDies),
		chances(4, PeersDie, DiesAgain, DiesStarting, PodDeleted, StoreBack, StoreWiped),
		chances(2, OutOfMemory, Unkillable, Polite, RuntimeRefuses, LateTermNotice, AllDie, WrongClock, NodeCrashes, NodeCutOff,
			Zombie, PodForced, PodFails, PodDuplicated, JobRecreated, AgentForgets, ReplicaBehind, TwoPrimaries, Suspended,
			Recreated, PolicyRestart),
		chances(1, WorkerFinishes))
}
