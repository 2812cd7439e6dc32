package memory

import (
	"context"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// watcher is the message queue of one Watch. It never loses a message and never blocks, so a slow reader cannot delay the store.
type watcher struct {
	group string // "" for all groups
	own   rounds.Slot
	wake  chan struct{}
	mail  []letter // guarded by Store.mu
}

type letter struct {
	group string
	rounds.Observation
}

// Watch implements rounds.Members. It calls on in the caller's goroutine.
func (s *Store) Watch(ctx context.Context, group string, own rounds.Slot, on func(rounds.Observation)) {
	s.watch(ctx, group, own, func(l letter) { on(l.Observation) })
}

// WatchAll implements rounds.Leader.
func (s *Store) WatchAll(ctx context.Context, on func(group string)) {
	s.watch(ctx, "", rounds.Slot{}, func(l letter) {
		if l.Err == nil {
			on(l.group)
		}
	})
}

func (s *Store) watch(ctx context.Context, group string, own rounds.Slot, on func(letter)) {
	w := &watcher{group: group, own: own, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.watchers[w] = true
	s.read(w)
	s.mu.Unlock()
	defer s.forget(w)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		for _, l := range s.collect(w) {
			if ctx.Err() != nil {
				return
			}
			on(l)
		}
	}
}

// read sends a watcher what it would read after connecting.
func (s *Store) read(w *watcher) {
	switch {
	case s.unreachable:
		w.send(letter{Observation: rounds.Observation{Err: ErrUnreachable}})
	case w.group == "":
		w.send(letter{})
	default:
		w.send(letter{w.group, s.server.Observe(w.group, w.own)})
	}
}

func (s *Store) broadcast(group string, o rounds.Observation) {
	for w := range s.watchers {
		if w.group == group || w.group == "" {
			w.send(letter{group, o})
		}
	}
}

// wakeLeader notifies the watchers of all groups.
func (s *Store) wakeLeader(group string) {
	for w := range s.watchers {
		if w.group == "" {
			w.send(letter{group: group})
		}
	}
}

func (w *watcher) send(l letter) {
	w.mail = append(w.mail, l)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (s *Store) collect(w *watcher) []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	mail := w.mail
	w.mail = nil
	return mail
}

func (s *Store) forget(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}
