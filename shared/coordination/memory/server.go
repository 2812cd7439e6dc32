package memory

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
	"github.com/holdfast-project/holdfast/shared/coordination/interpreter"
)

// Server runs the store's functions over groups in the process. Its calls are those of coordination.Store, one at a time: it
// is not safe for concurrent use. Errors are the protocol's; there are no others.
type Server struct {
	*interpreter.Server
}

// Options of a Server. Now is required.
type Options struct {
	Library string                                   // the source of the functions; default functions.Library
	Now     func() time.Time                         // the server's clock
	Publish func(group string, l coordination.Level) // called for each level that is broadcast, within the call that did
}

// NewServer returns an empty server. It fails if the library cannot be loaded.
func NewServer(o Options) (*Server, error) {
	if o.Library == "" {
		o.Library = functions.Library
	}
	publish := func(channel, message string) {
		if o.Publish == nil {
			return
		}
		level, err := coordination.ParseLevel(message)
		if err != nil {
			panic(err) // a mistake in the library
		}
		o.Publish(functions.GroupOf(channel), level)
	}
	p, err := interpreter.New(interpreter.Options{Library: o.Library, Now: o.Now, Publish: publish})
	if err != nil {
		return nil, err
	}
	return &Server{p}, nil
}

// call runs a function on a group.
func (s *Server) call(group string, c functions.Call) ([]string, error) {
	args := make([]string, 0, len(c.Arguments)+1)
	args = append(args, functions.Channel(group))
	for _, a := range c.Arguments {
		args = append(args, fmt.Sprint(a))
	}
	result, err := s.FCall(functions.Name(c.Function), functions.Keys(group), args)
	if err != nil {
		if known := functions.Error(err.Error()); known != nil {
			return nil, known
		}
		panic(err) // a mistake in the library
	}
	texts, _ := result.([]string)
	return texts, nil
}

func (s *Server) reply(group string, c functions.Call) (coordination.Reply, error) {
	texts, err := s.call(group, c)
	if err != nil {
		return coordination.Reply{}, err
	}
	return functions.ParseReply(texts)
}

func (s *Server) summary(group string, c functions.Call) (coordination.Summary, error) {
	texts, err := s.call(group, c)
	if err != nil {
		return coordination.Summary{}, err
	}
	return functions.ParseSummary(texts)
}

// Join is that of coordination.Agent, and so are Down and Ask.
func (s *Server) Join(group string, j coordination.Join) (coordination.Reply, error) {
	return s.reply(group, functions.Join(j))
}

// Down reports a death.
func (s *Server) Down(group string, d coordination.Down) (coordination.Reply, error) {
	return s.reply(group, functions.Down(d))
}

// Ask requests the recreation of the group.
func (s *Server) Ask(group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return s.reply(group, functions.Ask(m, kind))
}

// Open is that of coordination.Leader, and so are the following.
func (s *Server) Open(group string, o coordination.Open) (coordination.Summary, error) {
	return s.summary(group, functions.Open(o))
}

// Recreate gives a round up.
func (s *Server) Recreate(group string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	return s.summary(group, functions.Recreate(t, epoch, round, kind))
}

// Evict takes a pod out of its slot.
func (s *Server) Evict(group string, t coordination.Token, slot, pod string) (coordination.Summary, error) {
	return s.summary(group, functions.Evict(t, slot, pod))
}

// Drop removes a group.
func (s *Server) Drop(group string, t coordination.Token) error {
	_, err := s.call(group, functions.Drop(t))
	return err
}

// Summary reads the state of a group.
func (s *Server) Summary(group string) (coordination.Summary, error) {
	return s.summary(group, functions.Summary())
}

// Missing lists the slots that have not joined the desired round.
func (s *Server) Missing(group string) ([]string, error) { return s.call(group, functions.Missing()) }

// Groups lists the groups that are stored.
func (s *Server) Groups() []string {
	var groups []string
	for _, key := range s.Keys() {
		if group, isState := strings.CutSuffix(strings.TrimPrefix(key, functions.KeyPrefix), "}:s"); isState {
			groups = append(groups, group)
		}
	}
	return groups
}

// Group is all that is stored of a group, for tests and checks.
type Group struct {
	coordination.Summary
	Slots   map[string]functions.Slot
	Fenced  map[string]bool // by pod UID
	History []coordination.Record
}

// Group reads a group; nil if there is none.
func (s *Server) Group(group string) (*Group, error) {
	summary, err := s.Summary(group)
	if errors.Is(err, coordination.ErrNoGroup) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g := &Group{Summary: summary, Slots: map[string]functions.Slot{}, Fenced: s.Set(functions.FencedKey(group))}
	for name, record := range s.Hash(functions.SlotsKey(group)) {
		if g.Slots[name], err = functions.ParseSlot(record); err != nil {
			return nil, err
		}
	}
	g.History, err = functions.ParseHistory(group, s.List(functions.HistoryKey(group)))
	return g, err
}

// Dump is a copy of all that a server holds. The zero value is empty.
type Dump = interpreter.Dump
