package results

import "math"

// Costs is what one agent costs the store, computed from the results of one machine.
type Costs struct {
	Agents int
	// Bytes is the store's memory for an agent at rest: its record and its two connections.
	Bytes float64
	// RestartCPU is the store's CPU time for an agent in a restart, in seconds: its report, its join, and its share of
	// two broadcasts.
	RestartCPU float64
	// RestCPU is the store's CPU time for an agent per second at rest: its reads and its pings.
	RestCPU float64
	// RestartCalls and RestCalls are the calls of an agent in a restart, and per second at rest.
	RestartCalls, RestCalls float64
}

// CostsOf computes the costs from a restart and a period at rest of the same group. It returns false if the store's CPU
// is unknown.
func CostsOf(restart, rest Result) (Costs, bool) {
	n := float64(restart.Workers)
	if n == 0 || restart.Workers != rest.Workers || len(restart.Runs) == 0 || len(rest.Runs) == 0 {
		return Costs{}, false
	}
	atRest := func(of func(Usage) float64) float64 {
		return rest.each(func(r Run) float64 { return of(r.Usage) / r.Usage.Seconds }).Median / n
	}
	c := Costs{Agents: restart.Workers}
	c.RestCPU = atRest(func(u Usage) float64 { return u.CPU[Store] })
	c.RestCalls = atRest(func(u Usage) float64 { return sum(u.Store) })
	restarting := func(of func(Usage) float64, rest float64) float64 {
		return restart.each(func(r Run) float64 { return of(r.Usage)/n - rest*r.Usage.Seconds }).Median
	}
	c.RestartCPU = restarting(func(u Usage) float64 { return u.CPU[Store] }, c.RestCPU)
	c.RestartCalls = restarting(func(u Usage) float64 { return sum(u.Store) }, c.RestCalls)
	c.Bytes = rest.each(func(r Run) float64 { return r.Usage.StoreMiB * (1 << 20) }).Median / n
	return c, c.RestartCPU > 0
}

// Plan describes a number of agents distributed over several stores, each with its own core.
type Plan struct {
	Agents, Shards int
	// Connections, MemoryMiB and RestCores are those of one shard at rest. A store cannot use more than one core.
	Connections, MemoryMiB, RestCores float64
	// Seconds is how long the stores are busy with one restart of all agents, in parallel.
	Seconds float64
}

// For calculates what the given number of agents needs, evenly distributed over shards: groups on separate stores, or
// relays that each represent the agents of a shard. It assumes that costs grow linearly with the number of agents, and
// that shards do not affect each other.
func (c Costs) For(agents, shards int) Plan {
	each := math.Ceil(float64(agents) / float64(shards))
	return Plan{
		Agents: agents, Shards: shards,
		Connections: 2 * each, MemoryMiB: c.Bytes * each / (1 << 20), RestCores: c.RestCPU * each,
		Seconds: c.RestartCPU * each,
	}
}

// ShardsWithin returns the smallest number of shards with which a restart keeps each store busy for at most the given
// seconds.
func (c Costs) ShardsWithin(agents int, seconds float64) int {
	return max(1, int(math.Ceil(c.RestartCPU*float64(agents)/seconds)))
}

// Store is the store's name in Usage.
const Store = "store"

func sum(m map[string]float64) (total float64) {
	for _, v := range m {
		total += v
	}
	return total
}
