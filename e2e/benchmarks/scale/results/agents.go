package results

import "math"

// Costs are what agents cost the store, of one machine, taken from results.
type Costs struct {
	Agents int
	// Bytes of the store's memory for an agent at rest: its record, its two connections.
	Bytes float64
	// RestartCPU are seconds of the store's one core for an agent in a restart: its report, its join, its share of two broadcasts.
	RestartCPU float64
	// RestCPU is the same for each second in which nothing happens: its reads and its pings.
	RestCPU float64
	// Calls of an agent: in a restart, and in a second at rest.
	RestartCalls, RestCalls float64
}

// CostsOf takes them from a restart and a time at rest of the same group; false if the store's CPU could not be told.
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

// Plan is a number of agents on stores of their own, each with a core for itself.
type Plan struct {
	Agents, Shards int
	// Connections, MemoryMiB and RestCores are those of one shard at rest; RestCores above 1 is more than a store can do.
	Connections, MemoryMiB, RestCores float64
	// Seconds that the shards' stores are busy with one restart of all agents, side by side.
	Seconds float64
}

// For calculates what so many agents need, dealt out evenly to shards: groups on stores of their own, or relays that each stand
// for as many agents as a shard would. Costs are taken to grow with the agents, and shards not to disturb each other.
func (c Costs) For(agents, shards int) Plan {
	each := math.Ceil(float64(agents) / float64(shards))
	return Plan{
		Agents: agents, Shards: shards,
		Connections: 2 * each, MemoryMiB: c.Bytes * each / (1 << 20), RestCores: c.RestCPU * each,
		Seconds: c.RestartCPU * each,
	}
}

// ShardsWithin is the smallest number of shards with which a restart keeps each store busy for no longer than so many seconds.
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
