package results

import "fmt"

// hundred is a number of agents that no available machine can run.
const hundred = 100_000

// agents estimates what a hundred thousand agents need, from the largest measured group.
func (p *page) agents() {
	c, from, ok := p.costs()
	if !ok {
		return
	}
	p.section("100,000 agents, calculated")
	p.line("The machine is too small to run 100,000 agents, so this is a calculation. Measured with %s and %d workers: in a restart, each agent cost %s µs of the store's CPU and %s calls.",
		from, c.Agents, number(c.RestartCPU*1e6), number(c.RestartCalls))
	p.line("When idle, it cost %s µs per second and %s calls (including pings), and %s KiB of the store's memory. A store executes commands on one core.\n",
		number(c.RestCPU*1e6), number(c.RestCalls), number(c.Bytes/1024))
	p.header("agents", "stores", "agents per store", "connections", "memory, MiB", "share of its core when idle", "busy during a restart of all agents, s")
	counts := []int{1, 4, 8, 16, 32, 64}
	if n := c.ShardsWithin(hundred, restartGoal); n > counts[len(counts)-1] {
		counts = append(counts, n)
	}
	for _, shards := range counts {
		plan := c.For(hundred, shards)
		p.row([]string{
			fmt.Sprint(plan.Agents), fmt.Sprint(plan.Shards), fmt.Sprint((plan.Agents + shards - 1) / shards), number(plan.Connections),
			number(plan.MemoryMiB), number(plan.RestCores), number(plan.Seconds),
		})
	}
	p.line("\nFor a restart of all agents that keeps each store busy for at most %s s, %d stores are needed.", number(restartGoal), c.ShardsWithin(hundred, restartGoal))
	p.line("\nAssumptions:\n")
	for _, assumption := range []string{
		"the cost per agent does not depend on the size of the group: the cost of broadcasts and joins grows linearly with the number of agents, which can be checked with the sizes above",
		"groups can be distributed over stores. A group that is too large for one store needs relays, each of which subscribes once and reports for many agents." +
			" Relays are off by default, and were off here; see [coordination](coordination.md)",
		"each store has its own core. In the measurement it shared the machine's cores, so the table includes its CPU time but not its waiting time",
		"there are two connections per agent, with TLS. After a restart of the store, add a handshake of 0.3 to 1 ms for each connection",
		"the time between the first and the last agent that receives the order is part of the busy time",
		"the API server and the orchestrator are not involved in a restart in place with the exec driver. The tables above show their requests",
	} {
		p.line("* %s.", assumption)
	}
}

// restartGoal is how long a store may be busy with a restart, in seconds. It is the exec driver's target.
const restartGoal = 0.5

// costs returns the costs in the largest group with the exec driver for which a restart and a period at rest were
// measured.
func (p *page) costs() (c Costs, from string, ok bool) {
	sizes := p.sizes(Failure)
	for i := len(sizes) - 1; i >= 0; i-- {
		restart, found := p.find(Failure, Exec, sizes[i])
		rest, foundRest := p.find(Steady, Exec, sizes[i])
		if !found || !foundRest {
			continue
		}
		if c, ok := CostsOf(restart, rest); ok {
			return c, Exec, true
		}
	}
	return Costs{}, "", false
}
