package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/interpreter"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Server runs the store's functions over groups in the process. Its calls are those of rounds.Members and rounds.Leader, one at a time: it
// is not safe for concurrent use. Errors are the protocol's; there are no others.
type Server struct {
	*interpreter.Server
	now func() time.Time
}

// Options of a Server. Now is required.
type Options struct {
	Library string                             // the source of the functions; default rounds.Library
	Now     func() time.Time                   // the server's clock
	Publish func(group string, l rounds.Level) // called for each level that is published, within the call that did
	Wake    func(group string)                 // called when a function wakes the leader
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

// heard passes on what a function has published.
func (o Options) heard(channel, message string) {
	group := rounds.GroupOf(channel)
	if channel == rounds.KeysOf(group).WakeUps() {
		if o.Wake != nil {
			o.Wake(group)
		}
		return
	}
	level, err := rounds.ParseLevel(message)
	if err != nil {
		panic(err) // a mistake in the library
	}
	if o.Publish != nil {
		o.Publish(group, level)
	}
}

func (s *Server) function(group string, c rounds.Call) (string, error) {
	args := make([]string, len(c.Arguments))
	for i, a := range c.Arguments {
		args[i] = fmt.Sprint(a)
	}
	reply, err := s.FCall(c.Function, []string{rounds.KeysOf(group).State()}, args)
	if err != nil {
		if known := rounds.Error(err.Error()); known != nil {
			return "", known
		}
		panic(err) // a mistake in the library
	}
	text, _ := reply.(string)
	return text, nil
}

func (s *Server) stateText(group string) string {
	text, _ := s.Do("GETRANGE", rounds.KeysOf(group).State(), "0", fmt.Sprint(rounds.MaxText)).(string)
	return text
}

// Level reads the level of a group.
func (s *Server) Level(group string) (rounds.Level, error) {
	text := s.stateText(group)
	if text == "" {
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

// Call is that of rounds.Members.
func (s *Server) Call(group string, c rounds.Call) (string, rounds.Level, error) {
	reply, err := s.function(group, c)
	if err != nil {
		return "", rounds.Level{}, err
	}
	now, err := s.Level(group)
	return reply, now, err
}

// Place is that of rounds.Members.
func (s *Server) Place(group, slot string) (rounds.Place, error) {
	hash := s.Hash(rounds.KeysOf(group).Config())
	if len(hash) == 0 {
		return rounds.Place{}, coordination.ErrNoGroup
	}
	return rounds.PlaceOf(slot, func(field string) (string, bool) { text, ok := hash[field]; return text, ok })
}

// Read is that of rounds.Leader, and so are the following.
func (s *Server) Read(group string) (*rounds.Stored, error) {
	k := rounds.KeysOf(group)
	text, hash := s.stateText(group), s.Hash(k.Config())
	if text == "" || len(hash) == 0 {
		return nil, nil
	}
	stored, err := rounds.ParseStored(text, hash)
	if err != nil {
		return nil, foreign(group, err)
	}
	state, config := stored.State, stored.Config
	for u := range config.Units {
		stored.Joined = append(stored.Joined, int64(len(s.Hash(k.Joined(state.Level, u)))))
		stored.Finished = append(stored.Finished, int64(len(s.Hash(k.Finished(state.Level, u)))))
	}
	lines := s.Hash(k.History())
	for _, field := range rounds.LinesOf(state.Round, 2) {
		if line, err := rounds.ParseLine(lines[field]); err == nil {
			stored.Lines = append(stored.Lines, line)
		}
	}
	return stored, nil
}

// Set writes a group.
func (s *Server) Set(group string, seq int64, state rounds.State, c rounds.Config, finished []rounds.FinishedSlot, line *rounds.Line) (bool, error) {
	k := rounds.KeysOf(group)
	for _, f := range finished {
		s.Do("HSETNX", k.Joined(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
		s.Do("HSETNX", k.Finished(state.Level, f.Unit), f.Slot, rounds.FinishedInstance)
	}
	reply, err := s.function(group, rounds.Set(seq, state, c))
	if err != nil || reply == string(rounds.AnswerOver) {
		return false, err
	}
	if line != nil {
		l := *line
		l.OpenedAt = s.now()
		s.Do("HSET", k.History(), rounds.LinesOf(l.Round, 1)[0], l.String())
	}
	return true, nil
}

// Release fences a pod.
func (s *Server) Release(group string, t coordination.Token, l rounds.Level, unit int, slot rounds.Slot, cause string) error {
	_, err := s.function(group, rounds.Release(t, l.Incarnation, unit, slot, cause))
	return err
}

// Holders are the pods that hold slots.
func (s *Server) Holders(group string, generation int64, slots []string) map[string]string {
	holders := maps.Clone(s.Hash(rounds.KeysOf(group).Holders(generation)))
	maps.DeleteFunc(holders, func(slot, _ string) bool { return !slices.Contains(slots, slot) })
	return holders
}

// Missing are those of the slots that have not joined the round.
func (s *Server) Missing(group string, l rounds.Level, unit int, slots []string) []string {
	joined := s.Hash(rounds.KeysOf(group).Joined(l, unit))
	return slices.DeleteFunc(slices.Clone(slots), func(slot string) bool { _, ok := joined[slot]; return ok })
}

// HaveFinished are those of the slots whose workers have finished in the round.
func (s *Server) HaveFinished(group string, l rounds.Level, unit int, slots []string) []string {
	finished := s.Hash(rounds.KeysOf(group).Finished(l, unit))
	return slices.DeleteFunc(slices.Clone(slots), func(slot string) bool { _, ok := finished[slot]; return !ok })
}

// History are the lines of the last rounds.
func (s *Server) History(group string) []rounds.Line {
	var lines []rounds.Line
	texts := s.Hash(rounds.KeysOf(group).History())
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		if line, err := rounds.ParseLine(texts[field]); err == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// Drop removes a group.
func (s *Server) Drop(group string) {
	base := strings.TrimSuffix(rounds.KeysOf(group).State(), "s")
	for _, key := range s.Keys() {
		if strings.HasPrefix(key, base) {
			s.Do("DEL", key)
		}
	}
}

// Tidy removes tables of rounds that are over.
func (s *Server) Tidy() {
	for _, key := range s.Keys() {
		group := rounds.GroupOf(key)
		if level, err := s.Level(group); err == nil && rounds.KeysOf(group).IsOver(key, level) {
			s.Do("DEL", key)
		}
	}
}

// Groups lists the groups that are stored.
func (s *Server) Groups() []string {
	var groups []string
	for _, key := range s.Keys() {
		if group := rounds.GroupOf(key); group != "" && key == rounds.KeysOf(group).State() {
			groups = append(groups, group)
		}
	}
	return groups
}

// Dump is a copy of all that a server holds. The zero value is empty.
type Dump = interpreter.Dump
