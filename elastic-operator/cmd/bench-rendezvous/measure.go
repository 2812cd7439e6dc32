package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
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
		name string
		do   func(i int) error
	}{
		{"all connect, and get a first answer", b.connect},
		{fmt.Sprintf("%d join one round (compare and set)", min(agents, joining)), b.join},
		{"each says who it is, the first reads all", b.gather},
		{"each reads what all have said (torch 1.13)", b.exchange},
		{"all wait for one key, which is set", b.wake},
		{"etcd: all write a key", b.put},
		{"etcd: all watch, one writes", b.watch},
	} {
		if err := b.measure(step.name, step.do); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return b.results, nil
}

// measure has all agents do something at once.
func (b *bench) measure(name string, do func(i int) error) error {
	before, err := b.server.cpu()
	if err != nil {
		return err
	}
	b.requests.Store(0)
	waits, errs := make([]time.Duration, len(b.clients)), make([]error, len(b.clients))
	var all sync.WaitGroup
	began := time.Now()
	for i := range b.clients {
		all.Go(func() {
			start := time.Now()
			errs[i] = do(i)
			waits[i] = time.Since(start)
		})
	}
	all.Wait()
	r := result{Name: name, Agents: len(b.clients), Total: time.Since(began), Requests: int(b.requests.Load())}
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
const joining = 200

// join is what an agent does: it reads the state, adds itself, and tries again if another was faster. The state grows as torch's does, in the
// same number of bytes for each agent, and the server reads it each time, as it would torch's.
func (b *bench) join(i int) error {
	if i >= joining {
		return nil
	}
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

func (b *bench) gather(i int) error {
	b.requests.Add(1)
	if err := b.clients[i].Set(fmt.Sprintf("%stold/%d", round, i), make([]byte, 200)); err != nil || i > 0 {
		return err
	}
	return b.readAll(i)
}

func (b *bench) exchange(i int) error { return b.readAll(i) }

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

const folder = "/v2/keys/torchelastic/p2p/run_run/rdzv/"

var web = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 16}}

func (b *bench) put(i int) error {
	b.requests.Add(1)
	return b.etcd(http.MethodPut, fmt.Sprintf("v_1/rank_%d", i), url.Values{"value": {"x"}, "ttl": {"10"}})
}

// watching counts watches whose header has come.
var watching atomic.Int64

func (b *bench) watch(i int) error {
	b.requests.Add(1)
	if i == 0 {
		for int(watching.Load()) < len(b.clients)-1 {
			time.Sleep(time.Millisecond)
		}
		return b.etcd(http.MethodPut, "active_version", url.Values{"value": {`{"status":"setup"}`}})
	}
	response, err := web.Get("http://" + b.server.address + folder + "active_version?wait=true")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	watching.Add(1)
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (b *bench) etcd(method, key string, form url.Values) error {
	r, err := http.NewRequest(method, "http://"+b.server.address+folder+key, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := web.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode > 201 {
		return errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
