package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/interpreter"
)

// Server runs the store's functions on groups in process. It provides the calls of rounds.Members and rounds.Leader, returns only
// protocol errors, and is not safe for concurrent use.
type Server struct {
	*interpreter.Server
	now func() time.Time
}

// Options are the options of a Server. Now is required.
type Options struct {
	Library string                                   // source of the functions; default rounds.Library
	Now     func() time.Time                         // the server's clock
	Publish func(group string, o rounds.Observation) // called for each published level, during the call that publishes it
	Wake    func(group string)                       // called when a function wakes the leader
}

// NewServer returns an empty server. It fails if the library cannot be loaded.
func NewServer(o Options) (*Server, error) {
	if o.Library == "" {
		o.Library = rounds.Library
	}
	p, err := interpreter.New(interpreter.Options{Library: o.Library, Now: o.Now, Publish: o.heard})
	if err != nil {
		return nil, err
	}
	return &Server{p, o.Now}, nil
}

// heard delivers what a function has published.
func (o Options) heard(channel, message string) {
	group := rounds.GroupOf(channel)
	if channel == rounds.KeysOf(group).WakeUps() {
		if o.Wake != nil {
			o.Wake(group)
		}
		return
	}
	if o.Publish == nil {
		return
	}
	level, err := rounds.ParseLevel(message)
	if err != nil { // the state was forged by a member
		err = &coordination.ForeignValueError{Key: channel, Value: message}
	}
	o.Publish(group, rounds.Observation{Level: level, Err: err})
}

// LibraryError is the panic value if a function fails with a Lua error, which is a bug in the library.
type LibraryError struct{ error }

// call calls a function.
func (s *Server) call(group string, c rounds.Call) (any, error) {
	args := make([]string, len(c.Arguments))
	for i, a := range c.Arguments {
		if text, is := a.(string); is {
			args[i] = text
			continue
		}
		args[i] = fmt.Sprint(a)
	}
	reply, err := s.FCall(c.Function, []string{rounds.KeysOf(group).State()}, args)
	return reply, known(err)
}

// known returns the protocol error for an error reply.
func known(err error) error {
	if err == nil {
		return nil
	}
	if known := rounds.Error(err.Error()); known != nil {
		return known
	}
	panic(LibraryError{err})
}

func (s *Server) stateText(group string) (string, error) {
	reply, err := s.TryDo("GETRANGE", rounds.KeysOf(group).State(), "0", strconv.Itoa(rounds.MaxText))
	text, _ := reply.(string)
	return text, known(err)
}

// Level reads a group's level.
func (s *Server) Level(group string) (rounds.Level, error) {
	text, err := s.stateText(group)
	switch {
	case err != nil:
		return rounds.Level{}, err
	case text == "":
		return rounds.Level{}, coordination.ErrNoGroup
	}
	l, err := rounds.ParseLevel(text)
	if err != nil {
		return rounds.Level{}, foreign(group, err)
	}
	return l, nil
}

func foreign(group string, err error) error {
	return &coordination.ForeignValueError{Key: rounds.KeysOf(group).State(), Value: err.Error()}
}

// Call has the semantics of rounds.Members.
func (s *Server) Call(group string, c rounds.Call) (string, rounds.Level, error) {
	reply, err := s.call(group, c)
	if err != nil {
		return "", rounds.Level{}, err
	}
	text, _ := reply.(string)
	now, err := s.Level(group)
	return text, now, err
}

// Observe has the semantics of rounds.Members.
func (s *Server) Observe(group string, own rounds.Slot) rounds.Observation {
	o := rounds.Observation{Read: true}
	if o.Level, o.Err = s.Level(group); o.Err != nil {
		return o
	}
	p, err := s.Place(group, own)
	if err != nil {
		o.Err = err
		return o
	}
	o.Place = &p
	return o
}

// Place returns what the leader has decided about a pod.
func (s *Server) Place(group string, own rounds.Slot) (rounds.Place, error) {
	hash := s.Hash(rounds.KeysOf(group).Config())
	fields := rounds.PlaceFields(own)
	for i, field := range fields {
		fields[i] = hash[field]
	}
	return rounds.PlaceOf(own, fields)
}

// Read and the following functions have the semantics of rounds.Leader.
func (s *Server) Read(group string) (*rounds.Stored, error) {
	k := rounds.KeysOf(group)
	text, err := s.stateText(group)
	hash := s.Hash(k.Config())
	if err != nil || text == "" || len(hash) == 0 {
		return nil, err
	}
	stored, err := rounds.ParseStored(text, hash)
	if err != nil {
		return nil, foreign(group, err)
	}
	level := stored.State.Level
	for u := range stored.Config.Units {
		joined, errJoined := s.TryDo("HLEN", k.Joined(level, u))
		finished, errFinished := s.TryDo("HLEN", k.Finished(level, u))
		if err := known(cmp.Or(errJoined, errFinished)); err != nil {
			return nil, err
		}
		stored.Joined, stored.Finished = append(stored.Joined, joined.(int64)), append(stored.Finished, finished.(int64))
	}
	stored.Lines, err = s.lines(group, rounds.LinesOf(level.Round, 2))
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// Set writes a group. As in a server transaction, a failing command does not stop the others.
func (s *Server) Set(group, before string, state rounds.State, c rounds.Config, finished []rounds.FinishedSlot, line *rounds.Line) (bool, error) {
	k := rounds.KeysOf(group)
	var failed error
	for _, f := range finished {
		for _, key := range []string{k.Joined(state.Level, f.Unit), k.Finished(state.Level, f.Unit)} {
			_, err := s.TryDo("HSETNX", key, f.Slot, rounds.FinishedInstance)
			failed = cmp.Or(failed, err)
		}
	}
	reply, err := s.call(group, rounds.Set(before, state, c))
	if err = cmp.Or(known(failed), err); err != nil || reply == string(rounds.AnswerOver) {
		return false, err
	}
	if line != nil {
		l := *line
		l.OpenedAt = s.now()
		_, err = s.TryDo("HSET", k.History(), rounds.LinesOf(l.Round, 1)[0], l.String())
	}
	return true, known(err)
}

// Release fences a pod and assigns its slot to the heir, if there is one.
func (s *Server) Release(group string, t coordination.Token, l rounds.Level, unit int, slot rounds.Slot, cause string, heir rounds.Slot) error {
	_, err := s.call(group, rounds.Release(t, l.Incarnation, unit, slot, cause, heir))
	return err
}

// Look returns the values of those fields that are set.
func (s *Server) Look(group, key string, fields []string) (map[string]string, error) {
	found := map[string]string{}
	if len(fields) == 0 {
		return found, nil
	}
	reply, err := s.call(group, rounds.KeysOf(group).Look(key, fields...))
	if err != nil {
		return nil, err
	}
	for i, text := range reply.([]string) {
		if text != "" {
			found[fields[i]] = text
		}
	}
	return found, nil
}

// History returns the lines of the last rounds.
func (s *Server) History(group string) ([]rounds.Line, error) {
	return s.lines(group, rounds.LinesOf(0, rounds.HistoryLength))
}

func (s *Server) lines(group string, fields []string) ([]rounds.Line, error) {
	stored := s.Hash(rounds.KeysOf(group).History())
	if len(stored) > 0 { // skip absent fields to avoid a Lua call that would return nothing
		fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return stored[f] == "" })
	}
	texts, err := s.Look(group, rounds.KeysOf(group).History(), fields)
	var lines []rounds.Line
	for _, field := range fields {
		if texts[field] == "" {
			continue
		}
		if line, err := rounds.ParseLine(texts[field]); err == nil {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// Drop removes all of a group's data.
func (s *Server) Drop(group string) {
	base := strings.TrimSuffix(rounds.KeysOf(group).State(), "s")
	for _, key := range s.Keys() {
		if strings.HasPrefix(key, base) {
			s.Do("DEL", key)
		}
	}
}

// Tidy removes tables of past rounds.
func (s *Server) Tidy() {
	for _, key := range s.Keys() {
		group := rounds.GroupOf(key)
		if level, err := s.Level(group); err == nil && rounds.KeysOf(group).IsOver(key, level) {
			s.Do("DEL", key)
		}
	}
}

// Groups lists the stored groups.
func (s *Server) Groups() []string {
	var groups []string
	for _, key := range s.Keys() {
		if group := rounds.GroupOf(key); group != "" && key == rounds.KeysOf(group).State() {
			groups = append(groups, group)
		}
	}
	return groups
}

// Dump is a copy of all of a server's data. The zero value is empty.
type Dump = interpreter.Dump
