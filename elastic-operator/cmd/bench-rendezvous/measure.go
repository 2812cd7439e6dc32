package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/client"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// bench is all that the measurements share.
type bench struct {
	server   *server
	clients  []*client.Client
	requests atomic.Int64
	results  []result
}

func measure(binary string, agents int) (results []result, err error) {
	s, err := startServer(binary)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	b := &bench{server: s, clients: make([]*client.Client, agents)}
	for _, step := range []struct {
		name   string
		agents int
		do     func(i int) error
	}{
		{"connect, and get a first answer", agents, b.connect},
		{"join one round (compare and set)", min(agents, joining), b.join},
		{"say who they are", agents, b.tell},
		{"read what all have said", min(agents, reading), b.readAll},
		{"wait for one key, which is set", agents, b.wake},
	} {
		if err := b.measure(step.name, step.agents, step.do); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.results, nil
}

// measure has the first agents do something at once.
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
	if b.clients[i], err = client.Dial(b.server.address, d); err != nil {
		return err
	}
	b.requests.Add(1)
	_, err = b.clients[i].Add(round+"count", 1)
	return err
}

// joining is how many agents join at once. Each that succeeds makes all others try again, with states that grow: the work grows with the third power,
// whoever serves it.
const joining = 100

// join is what an agent does: it reads the state, adds itself, and tries again if another was faster. The state grows as torch's does, in the
// same number of bytes for each agent, and the server reads it each time, as it would torch's.
func (b *bench) join(i int) error {
	c := b.clients[i]
	state := []byte(nil)
	for {
		desired := joined(state, i)
		b.requests.Add(1)
		now, err := c.CompareSet(stateKey, state, desired)
		if err != nil {
			return err
		}
		if string(now) == string(desired) {
			return nil
		}
		state = now
	}
}

func (b *bench) tell(i int) error {
	b.requests.Add(2)
	key := fmt.Sprintf("%stold/%d", round, i)
	if err := b.clients[i].Set(key, make([]byte, 200)); err != nil {
		return err
	}
	return b.clients[i].Wait(key)
}

// reading is how many agents read what all have said, one key after the other. With torch 1.13 each agent does.
const reading = 100

func (b *bench) readAll(i int) error {
	for other := range b.clients {
		b.requests.Add(2) // a wait, then the value
		if _, err := b.clients[i].Get(fmt.Sprintf("%stold/%d", round, other)); err != nil {
			return err
		}
	}
	return nil
}

// wake: the last agent to come sets the key that the others wait for.
func (b *bench) wake(i int) error {
	c := b.clients[i]
	b.requests.Add(1)
	n, err := c.Add(round+"waiting", 1)
	if err != nil {
		return err
	}
	b.requests.Add(1)
	if int(n) == len(b.clients) {
		return c.Set(round+"go", nil)
	}
	return c.Wait(round + "go")
}
