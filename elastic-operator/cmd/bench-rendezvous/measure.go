package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// bench is the state shared by the measurements.
type bench struct {
	server   *server
	clients  []*client
	requests atomic.Int64
	results  []result
}

func measure(binary string, agents int) (results []result, err error) {
	s, err := startServer(binary)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	b := &bench{server: s, clients: make([]*client, agents)}
	for _, step := range []struct {
		name   string
		agents int
		do     func(i int) error
	}{
		{"connect and get the first reply", agents, b.connect},
		{"join one round (compare and set)", min(agents, joining), b.join},
		{"publish a value per agent", agents, b.publish},
		{"read the values of all agents", min(agents, reading), b.readAll},
		{"wait for one key until it is set", agents, b.waitForKey},
	} {
		if err := b.measure(step.name, step.agents, step.do); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.results, nil
}

// measure runs the step concurrently for the given number of agents.
func (b *bench) measure(name string, agents int, do func(i int) error) error {
	before, err := b.server.cpu()
	if err != nil {
		return err
	}
	b.requests.Store(0)
	waits, errs := make([]time.Duration, agents), make([]error, agents)
	var all sync.WaitGroup
	began := time.Now()
	for i := range agents {
		all.Go(func() {
			start := time.Now()
			errs[i] = do(i)
			waits[i] = time.Since(start)
		})
	}
	all.Wait()
	r := result{Name: name, Agents: agents, Total: time.Since(began), Requests: int(b.requests.Load())}
	r.P50, r.P99 = percentiles(waits)
	after, err := b.server.cpu()
	r.CPU = after - before
	var memory error
	r.RSS, memory = b.server.memory()
	b.results = append(b.results, r)
	return errors.Join(append(errs, err, memory)...)
}

const (
	stateKey = "/torch.rendezvous.run"
	round    = "/torch.rendezvous.run.0/"
)

func (b *bench) connect(i int) (err error) {
	d := tcpstore.Classic
	if i%2 == 1 {
		d = tcpstore.Validated
	}
	if b.clients[i], err = dial(b.server.address, d); err != nil {
		return err
	}
	b.requests.Add(1)
	_, err = b.clients[i].add(round+"count", 1)
	return err
}

// joining is the number of agents that join concurrently. Whenever one succeeds, all others retry with a larger state, so for any server
// the work is proportional to the cube of the number of agents.
const joining = 100

// join joins as a torch agent does: it reads the state, adds itself, and retries if another agent was faster. As with torch, the state
// grows by the same number of bytes per agent, and the server parses it after each change.
func (b *bench) join(i int) error {
	c := b.clients[i]
	state := []byte(nil)
	for {
		desired := joined(state, i)
		b.requests.Add(1)
		now, err := c.compareSet(stateKey, state, desired)
		if err != nil {
			return err
		}
		if string(now) == string(desired) {
			return nil
		}
		state = now
	}
}

func (b *bench) publish(i int) error {
	b.requests.Add(2)
	key := fmt.Sprintf("%svalue/%d", round, i)
	if err := b.clients[i].set(key, make([]byte, 200)); err != nil {
		return err
	}
	return b.clients[i].wait(key)
}

// reading is the number of agents that each read the values of all agents, one by one. In torch 1.13 every agent does this.
const reading = 100

func (b *bench) readAll(i int) error {
	for other := range b.clients {
		b.requests.Add(2) // a wait, followed by reading the value
		if _, err := b.clients[i].get(fmt.Sprintf("%svalue/%d", round, other)); err != nil {
			return err
		}
	}
	return nil
}

// waitForKey waits for a key. The last agent to arrive sets it.
func (b *bench) waitForKey(i int) error {
	c := b.clients[i]
	b.requests.Add(1)
	n, err := c.add(round+"waiting", 1)
	if err != nil {
		return err
	}
	b.requests.Add(1)
	if int(n) == len(b.clients) {
		return c.set(round+"go", nil)
	}
	return c.wait(round + "go")
}
