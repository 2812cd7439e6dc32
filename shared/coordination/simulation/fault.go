package simulation

import (
	"fmt"
	"slices"
	"time"
)

// Fault is one fault. A history is a seed, a shape and a list of faults. A failing history shrinks by leaving out some of them and
// running the seed again.
type Fault struct {
	At     time.Duration
	Kind   Kind
	Target int           // which object it strikes, modulo their number
	For    time.Duration // how long it lasts, or how much is lost
	Count  int           // how many messages or steps, or an exit code
}

func (f Fault) String() string {
	return fmt.Sprintf("%s  %s target=%d for=%s count=%d", stamp(f.At), f.Kind, f.Target, f.For, f.Count)
}

// jump returns how far a clock jumps: up to ten minutes, forward or back.
func (f Fault) jump() time.Duration {
	if f.Count%2 == 0 {
		return -30 * f.For
	}
	return 30 * f.For
}

// Kind names a kind of fault.
type Kind string

// Faults of workers, nodes, pods, agents, the network, the store, leaders and the JobSet.
const (
	WorkerDies     Kind = "worker dies"        // with exit code Count
	WorkerFinishes Kind = "worker finishes"    // exits 0 by itself
	WorkerHangs    Kind = "worker hangs"       // no longer makes progress, and does not react to signals
	OutOfMemory    Kind = "out of memory"      // the container is killed
	Unkillable     Kind = "unkillable worker"  // survives every signal for a while
	Polite         Kind = "polite worker"      // exits with code 0 when it is stopped
	RuntimeRefuses Kind = "runtime refuses"    // the next orders to stop fail
	BlindRuntime   Kind = "blind runtime"      // no events: the agent sees changes only at its next poll
	LateTermNotice Kind = "slow worker"        // takes For to end after the signal
	AllDie         Kind = "all workers die"    // within a moment
	PeersDie       Kind = "two workers die"    // one shortly after the other
	DiesAgain      Kind = "worker dies again"  // Count times, whenever it has started
	DiesStarting   Kind = "worker dies young"  // as soon as it has started the next time
	WrongClock     Kind = "clock jumps"        // of a node, by minutes
	StoreClock     Kind = "store clock jumps"  // of the store, by minutes
	NodeCrashes    Kind = "node crashes"       // with everything on it, and stays unreachable
	NodeCutOff     Kind = "node is cut off"    // from the store and the API server
	Zombie         Kind = "zombie"             // disconnected, its pod is force-deleted, and the node returns
	PodDeleted     Kind = "pod is deleted"     //
	PodForced      Kind = "pod forced away"    // removed from the API at once, while its containers are still stopping
	PodFails       Kind = "pod fails"          // evicted by its node
	PodDuplicated  Kind = "pod is duplicated"  // a second pod of the same slot for a while
	PodStuck       Kind = "pod is stuck"       // none of its containers starts again, as if the pod's device were missing
	PodFenced      Kind = "pod is fenced"      // a leader that considered it lost has released its slot; it continues to run
	JobRecreated   Kind = "job is recreated"   // another program deletes a Job
	AgentCrashes   Kind = "agent crashes"      //
	AgentFuse      Kind = "agent fuse"         // crashes after Count more actions
	AgentForgets   Kind = "agent forgets"      // crashes and loses the startup file
	AgentPauses    Kind = "agent pauses"       //
	RequestsLost   Kind = "requests lost"      // the next Count calls of an agent
	RepliesLost    Kind = "replies lost"       // the next Count answers to an agent
	Duplicates     Kind = "requests repeated"  // the next Count calls arrive twice
	SlowMessages   Kind = "slow messages"      // the next Count take up to For
	Deaf           Kind = "broadcasts lost"    // to one agent
	HalfOpen       Kind = "half-open link"     // all messages are lost without an error
	AllDeaf        Kind = "nobody hears"       // broadcasts are lost for all agents
	StoreDown      Kind = "store is down"      // and comes back with its data
	StoreBack      Kind = "store goes back"    // crashes and loses its last data, up to a second
	ReplicaBehind  Kind = "replica behind"     // fails over to a copy that is For behind
	StoreWiped     Kind = "store is wiped"     //
	WrongVersion   Kind = "wrong version"      // the store lacks the functions that agents call, so they see no group
	TwoPrimaries   Kind = "two primaries"      // each with a part of the clients; one of them is dropped in the end
	LeaderCrashes  Kind = "leader crashes"     //
	LeaderFuse     Kind = "leader fuse"        // crashes after Count more steps
	LeaderPauses   Kind = "leader pauses"      // in most cases longer than its Lease
	LeadersGone    Kind = "no leader"          // both orchestrators are down
	LeaderCut      Kind = "leader is cut off"  // from the store
	LeaderSlow     Kind = "leader is slow"     // its next calls take up to For/4
	StaleCache     Kind = "stale cache"        // of the orchestrators
	Controller     Kind = "controller crashes" // after Count more steps
	Suspended      Kind = "suspended"          // and resumed
	Resized        Kind = "resized"            // a Job is added, or the last one removed
	Recreated      Kind = "recreated"          // the JobSet is deleted, and another one with its name is created
	PolicyRestart  Kind = "policy restart"     // a Job fails for another reason

	RelayDies  Kind = "relay dies"   // the agent that relays
	RelayIdle  Kind = "relay idle"   // it answers pings, and does nothing else
	RelayLate  Kind = "relay behind" // it does everything late
	RelayHangs Kind = "relay hangs"  // it answers nothing for a while

	Forged Kind = "forged records" // a member writes Count values that its store permissions allow

	// Permanent faults.
	AlwaysExits Kind = "worker always exits" // soon after each start, in every pod of the slot
	NeverStarts Kind = "worker never starts" // no pod of the slot starts
	NodeSilent  Kind = "node stays silent"   // disconnected permanently
)

// draw returns the faults of a seed.
func (s Shape) draw(seed uint64) []Fault {
	r := newRandom(seed, "faults")
	total := 0
	for _, c := range s.Faults {
		total += c.Weight
	}
	faults := make([]Fault, 1+r.IntN(s.Most))
	for i := range faults {
		faults[i] = Fault{
			At: r.between(s.Start, s.Horizon), Kind: s.kind(r.IntN(total)), Target: r.IntN(1 << 10),
			For: r.between(0, 20*time.Second), Count: 1 + r.IntN(8),
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return int(a.At - b.At) })
	return faults
}

func (s Shape) kind(at int) Kind {
	for _, c := range s.Faults {
		if at -= c.Weight; at < 0 {
			return c.Kind
		}
	}
	panic("weights add up to less than their sum")
}
