package agent

import (
	"sync"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// lines holds the connections for calls.
type lines struct {
	address string
	share   int

	mu   sync.Mutex
	open *line // has room for more agents; nil: none has
}

// line is one connection, and counts the agents that use it.
type line struct {
	*valkey.Store
	agents, left int
}

// take returns a line for one more agent.
func (l *lines) take() *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		store, err := valkey.New(valkey.Options{Address: l.address})
		if err != nil {
			panic(err) // the caller of New has already connected to this address
		}
		l.open = &line{Store: store}
	}
	taken := l.open
	if taken.agents++; taken.agents == l.share {
		l.open = nil
	}
	return taken
}

// giveBack closes a line when the last of its agents has left.
func (l *lines) giveBack(one *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.left++
	if one.left < one.agents {
		return
	}
	if l.open == one {
		l.open = nil
	}
	_ = one.Close()
}
