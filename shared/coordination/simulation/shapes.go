package simulation

import (
	"slices"
	"time"
)

// Shapes returns the shapes over which the seeds are spread. Each history draws a few faults of its shape's kinds.
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
		sparesIn(resized(Exec), 1), sparesIn(endless(Exec), 1), sparesIn(forged(Exec), 1), sparesIn(neutral(Exec), 1),
	}
}

func workers(driver Driver, jobs, pods int64) []Entry {
	return []Entry{{Name: "w", Jobs: jobs, Pods: pods, Driver: driver}}
}

// mixed has one replicatedJob with each driver.
func mixed() []Entry {
	return []Entry{{Name: "w", Jobs: 1, Pods: 2, Driver: Exec}, {Name: "x", Jobs: 1, Pods: 2, Driver: CRI}}
}

// steps has steps that start one after the other.
func steps(driver Driver) []Entry {
	return []Entry{{Name: "w", Jobs: 1, Pods: 1, Driver: Exec}, {Name: "x", Jobs: 1, Pods: 2, Driver: driver, Step: 1}}
}

// shape returns a shape with the settings of an ordinary JobSet.
func shape(name string, entries []Entry, faults []Chance, most int) Shape {
	return Shape{
		Name: name, Entries: entries, Budget: 20, Timeout: 60 * time.Second, Forming: 30 * time.Minute, Grace: 5 * time.Second,
		Faults: faults, Most: most, Start: 5 * time.Second, Horizon: 35 * time.Second,
	}
}

// withSpares is a shape of its name whose entries have so many spares each.
func withSpares(name string, entries []Entry, n int64, faults []Chance, most int) Shape {
	return sparesIn(shape(name, entries, faults, most), n)
}

// relayed is a shape in which the first worker of each four relays for the others.
func relayed(s Shape, faults []Chance) Shape {
	s.Name += " with relays"
	s.Relays, s.Faults = 4, append(slices.Clone(s.Faults), faults...)
	return s
}

// relayKinds: relays die, lie idle and fall behind while workers die.
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

// lossKinds: pods are lost, one after the other and together, and with them leaders and what the store knows.
func lossKinds() []Chance {
	return slices.Concat(chances(10, PodDeleted, PodFails, PodForced, NodeCrashes, Zombie),
		chances(4, NodeCutOff, JobRecreated, StoreBack, StoreWiped, ReplicaBehind, TwoPrimaries, LeaderCrashes, LeaderFuse, LeaderPauses, StaleCache, WorkerDies, AgentForgets, AgentFuse))
}

// neutral has faults that affect no worker, but everything that supervises workers (S12).
func neutral(driver Driver) Shape {
	s := shape("neutral "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(2, StoreWiped, StoreBack)...), 6)
	s.Neutral, s.InPlace = true, true
	s.Timeout = 10 * time.Minute // after a third of it the leader considers a pod unhealthy whose agent is slow to return to an empty store
	return s
}

// mild has workers that die occasionally, and nothing that prevents their in-place restart (L2).
func mild() Shape {
	s := shape("mild", workers(CRI, 1, 3), append(withoutHarm(), chances(12, WorkerDies, PeersDie)...), 3)
	s.Timeout, s.RemoveStopped, s.InPlace = 10*time.Minute, true, true
	return s
}

// repairs has lost, stuck or fenced pods. Each is replaced alone (L2).
func repairs(driver Driver) Shape {
	s := shape("repairs "+string(driver), workers(driver, 1, 3), append(harmless(driver), chances(15, PodDeleted, PodStuck, PodFenced)...), 8)
	s.Timeout, s.RemoveStopped, s.InPlace = 3*time.Minute, true, true
	return s
}

// resized has Jobs that are added and removed, and faults that need a restart.
func resized(driver Driver) Shape {
	kinds := append(harmless(driver), chances(6, WorkerDies, PodDeleted, StoreBack, StoreWiped)...)
	return shape("resized "+string(driver), workers(driver, 2, 1), append(kinds, chances(25, Resized)...), 6)
}

// poor has a budget that is soon used up.
func poor() Shape {
	kinds := append(chances(6, WorkerDies, PeersDie, DiesAgain, DiesStarting, PodDeleted), chances(2, Suspended, PolicyRestart,
		LeaderPauses, LeadersGone, StaleCache, LeaderFuse, Controller, WorkerFinishes, Unkillable)...)
	s := shape("poor", workers(CRI, 1, 2), kinds, 6)
	s.Budget = 2
	return s
}

// hasty has a timeout in which hardly any restart ends.
func hasty() Shape {
	s := shape("hasty", workers(CRI, 1, 3), append(everything(), chances(15, WorkerDies, PeersDie, LeaderSlow)...), 6)
	s.Timeout, s.RemoveStopped = 1500*time.Millisecond, true
	return s
}

// clocksApart has clocks of nodes and the store that jump by minutes, and workers that die.
func clocksApart() Shape {
	kinds := append(chances(12, WrongClock, StoreClock), chances(8, WorkerDies, PodDeleted, PeersDie, StoreWiped, AgentCrashes)...)
	return shape("clocks", mixed(), kinds, 7)
}

// leadership has two leaders, and leaders with stale data.
func leadership() Shape {
	kinds := append(chances(8, LeaderPauses, StaleCache, Suspended, WorkerDies, PodDeleted, PodFails),
		chances(3, LeaderFuse, LeaderCrashes, LeaderCut, PolicyRestart, Recreated, Controller, NodeCrashes)...)
	return shape("leadership", workers(CRI, 1, 2), kinds, 7)
}

// storms has faults of the store and the network.
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

// withoutHarm returns the faults that cost no worker.
func withoutHarm() []Chance {
	return chances(2, AgentCrashes, AgentFuse, AgentPauses, RequestsLost, RepliesLost, Duplicates, SlowMessages, Deaf, HalfOpen,
		AllDeaf, StoreDown, StoreClock, WrongVersion, BlindRuntime, LeaderCrashes, LeaderFuse, LeaderPauses, LeadersGone, LeaderCut, LeaderSlow, StaleCache,
		Controller)
}

// everything returns all faults, the likely ones more often.
func everything() []Chance {
	return slices.Concat(withoutHarm(), chances(8, WorkerDies),
		chances(4, PeersDie, DiesAgain, DiesStarting, PodDeleted, StoreBack, StoreWiped),
		chances(2, OutOfMemory, Unkillable, Polite, RuntimeRefuses, LateTermNotice, AllDie, WrongClock, NodeCrashes, NodeCutOff,
			Zombie, PodForced, PodFails, PodDuplicated, JobRecreated, AgentForgets, ReplicaBehind, TwoPrimaries, Suspended,
			Recreated, PolicyRestart),
		chances(1, WorkerFinishes))
}
