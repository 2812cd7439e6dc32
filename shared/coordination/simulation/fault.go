package simulation

import (
	"fmt"
	"slices"
	"time"
)

// Fault is an injected fault. A history is determined by a seed, a shape and a list of faults. To shrink a failing history, some
// faults are left out and the seed is run again.
type Fault struct {
	At     time.Duration
	Kind   Kind
	Target int           // index of the affected object, modulo the number of objects
	For    time.Duration // how long it lasts, or how far back data is lost
	Count  int           // number of messages or steps, or an exit code
}

func (f Fault) String() string {
	return fmt.Sprintf("%s  %s target=%d for=%s count=%d", stamp(f.At), f.Kind, f.Target, f.For, f.Count)
}

// jump returns how far a clock jumps: up to ten minutes forward or back.
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
	WorkerFinishes Kind = "worker finishes"    // exits with code 0
	WorkerHangs    Kind = "worker hangs"       // makes no more progress and does not react to signals
	OutOfMemory    Kind = "out of memory"      // the container is killed
	Unkillable     Kind = "unkillable worker"  // survives every signal for a while
	Polite         Kind = "polite worker"      // exits with code 0 when it is stopped
	RuntimeRefuses Kind = "runtime refuses"    // the next stop orders fail
	BlindRuntime   Kind = "blind runtime"      // sends no events: the agent sees changes only at its next poll
	LateTermNotice Kind = "slow worker"        // takes For to end after the signal
	AllDie         Kind = "all workers die"    // almost at the same time
	PeersDie       Kind = "two workers die"    // one shortly after the other
	DiesAgain      Kind = "worker dies again"  // Count times, each time after it has started
	DiesStarting   Kind = "worker dies young"  // as soon as it is started the next time
	WrongClock     Kind = "clock jumps"        // a node's clock, by minutes
	StoreClock     Kind = "store clock jumps"  // the store's clock, by minutes
	NodeCrashes    Kind = "node crashes"       // with everything on it; it stays unreachable
	NodeCutOff     Kind = "node is cut off"    // from the store and the API server
	Zombie         Kind = "zombie"             // the node is disconnected, its pod is force-deleted, and the node returns
	PodDeleted     Kind = "pod is deleted"     //
	PodForced      Kind = "pod forced away"    // removed from the API immediately, while its containers are still stopping
	PodFails       Kind = "pod fails"          // evicted by its node
	PodDuplicated  Kind = "pod is duplicated"  // there is a second pod of the same slot for a while
	PodStuck       Kind = "pod is stuck"       // its containers cannot be restarted, as if the pod's device were missing
	PodFenced      Kind = "pod is fenced"      // a leader has released its slot in the belief that it was lost; it keeps running
	JobRecreated   Kind = "job is recreated"   // another program deletes a Job
	AgentCrashes   Kind = "agent crashes"      //
	AgentFuse      Kind = "agent fuse"         // crashes after Count more actions
	AgentForgets   Kind = "agent forgets"      // crashes and loses the startup file
	AgentPauses    Kind = "agent pauses"       //
	RequestsLost   Kind = "requests lost"      // the next Count calls of an agent
	RepliesLost    Kind = "replies lost"       // the next Count answers to an agent
	Duplicates     Kind = "requests repeated"  // the next Count calls arrive twice
	SlowMessages   Kind = "slow messages"      // the next Count messages take up to For
	Deaf           Kind = "broadcasts lost"    // broadcasts to one agent
	HalfOpen       Kind = "half-open link"     // all messages are lost without an error
	AllDeaf        Kind = "nobody hears"       // broadcasts are lost for all agents
	StoreDown      Kind = "store is down"      // and comes back with its data
	StoreBack      Kind = "store goes back"    // crashes and loses up to the last second of its data
	ReplicaBehind  Kind = "replica behind"     // fails over to a replica that lags behind
	StoreWiped     Kind = "store is wiped"     //
	WrongVersion   Kind = "wrong version"      // the store does not have the functions that agents call, so they see no group
	TwoPrimaries   Kind = "two primaries"      // each serves some of the clients; in the end, one of them is dropped
	LeaderCrashes  Kind = "leader crashes"     //
	LeaderFuse     Kind = "leader fuse"        // crashes after Count more steps
	LeaderPauses   Kind = "leader pauses"      // in most cases for longer than its Lease
	LeadersGone    Kind = "no leader"          // both orchestrators are down
	LeaderCut      Kind = "leader is cut off"  // from the store
	LeaderSlow     Kind = "leader is slow"     // its next store calls take up to For/4
	StaleCache     Kind = "stale cache"        // in the orchestrators
	Controller     Kind = "controller crashes" // after Count more steps
	Suspended      Kind = "suspended"          // the JobSet is suspended, and resumed after For
	Resized        Kind = "resized"            // a Job is added, or the last one is removed
	SparesResized  Kind = "spares resized"     // the number of spares changes
	Recreated      Kind = "recreated"          // the JobSet is deleted, and another one with the same name is created
	PolicyRestart  Kind = "policy restart"     // a Job fails, so the failure policy restarts the JobSet

	RelayDies  Kind = "relay dies"   // the relay's agent crashes
	RelayIdle  Kind = "relay idle"   // the relay only answers pings
	RelayLate  Kind = "relay behind" // the relay answers and forwards everything late
	RelayHangs Kind = "relay hangs"  // the relay does not answer anything for a while

	Forged Kind = "forged records" // a member writes Count values, as far as its store permissions allow

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
