package loop

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// script is a store that returns prepared results for successive reads.
type script struct {
	rounds.Members
	levels []func() (rounds.Level, error)
	places []error
}

func (s *script) Level(context.Context, string) (rounds.Level, error) {
	next := s.levels[0]
	s.levels = s.levels[1:]
	return next()
}

func (s *script) Place(context.Context, string, rounds.Slot) (rounds.Place, error) {
	var err error
	if len(s.places) > 0 {
		err, s.places = s.places[0], s.places[1:]
	}
	return rounds.Place{Limit: 7}, err
}

func newLoop(t *testing.T, s *script) *loop {
	return &loop{Parts: Parts{Store: s, Log: slog.New(slog.DiscardHandler)}, events: make(chan worker.Event, 64), work: t.Context()}
}

func at(seq int64) func() (rounds.Level, error) {
	return func() (rounds.Level, error) { return rounds.Level{Seq: seq}, nil }
}

// posted returns a short description of each event that the core received.
func (l *loop) posted() (words []string) {
	for len(l.events) > 0 {
		switch e := (<-l.events).(type) {
		case worker.Placed:
			words = append(words, "placed")
		case worker.Updated:
			switch {
			case e.Err != nil && e.Read:
				words = append(words, "read error")
			case e.Err != nil:
				words = append(words, "error")
			case e.Read:
				words = append(words, "read "+string(rune('0'+e.Level.Seq)))
			default:
				words = append(words, "message "+string(rune('0'+e.Level.Seq)))
			}
		}
	}
	return words
}

func expect(t *testing.T, l *loop, want ...string) {
	t.Helper()
	if got := l.posted(); !slices.Equal(got, want) {
		t.Errorf("the core received %q, want %q", got, want)
	}
}

var errAway = errors.New("connection refused")

func TestThePlaceIsPostedBeforeALevelThatWasRead(t *testing.T) {
	l := newLoop(t, &script{levels: []func() (rounds.Level, error){at(3)}})
	l.updated(rounds.Observation{Level: rounds.Level{Seq: 1}, Read: true})
	l.updated(rounds.Observation{Level: rounds.Level{Seq: 2}})
	l.read()
	expect(t, l, "placed", "read 1", "message 2", "placed", "read 3")
}

// Other calls to the store may have returned a later level in the meantime.
func TestTheLevelIsReadAgainAfterReadingThePlaceFailed(t *testing.T) {
	l := newLoop(t, &script{places: []error{errAway}, levels: []func() (rounds.Level, error){at(2)}})
	l.updated(rounds.Observation{Level: rounds.Level{Seq: 1}, Read: true})
	expect(t, l, "error", "placed", "read 2")
}

func TestAFailedReadIsRepeated(t *testing.T) {
	away := func() (rounds.Level, error) { return rounds.Level{}, errAway }
	l := newLoop(t, &script{levels: []func() (rounds.Level, error){away, at(2)}})
	l.read()
	expect(t, l, "error", "placed", "read 2")
}

func TestAnUnknownSlotIsAReply(t *testing.T) {
	l := newLoop(t, &script{levels: []func() (rounds.Level, error){at(1)}, places: []error{coordination.ErrUnknownSlot, coordination.ErrUnknownSlot}})
	l.read()
	l.updated(rounds.Observation{Level: rounds.Level{Seq: 1}, Read: true})
	expect(t, l, "read error", "read error")
}

// A message that arrived during the read may be newer than the level that was read.
func TestAReadStartsAgainAfterANewerMessage(t *testing.T) {
	s := &script{}
	l := newLoop(t, s)
	overtaken := func() (rounds.Level, error) {
		l.updated(rounds.Observation{Level: rounds.Level{Seq: 2}})
		return rounds.Level{Seq: 1}, nil
	}
	s.levels = []func() (rounds.Level, error){overtaken, at(2)}
	l.read()
	expect(t, l, "message 2", "placed", "read 2")
}

// barrier records the content of the startup file when an instance starts.
type barrier struct {
	dir string
	saw []string
}

func (b *barrier) note(what string) {
	content, _ := os.ReadFile(b.dir + "/" + startup.FileName)
	b.saw = append(b.saw, what+" "+string(content))
}

func (b *barrier) Prepare()                           { b.note("prepare") }
func (b *barrier) Start(string, int64, int64, string) { b.note("start") }

func TestTheStartUpFileIsWrittenBeforeTheStart(t *testing.T) {
	b := &barrier{dir: t.TempDir()}
	l := newLoop(t, &script{})
	l.config, l.Barrier, l.timer = Config{StartupDir: b.dir, Identity: config.Identity{PodUID: "pod", JobSetUID: "uid"}}, b, time.NewTimer(far)
	for _, a := range []worker.Action{worker.Save{Memory: worker.Memory{Ran: true}}, worker.Start{ID: "a"}} {
		l.perform(a)
	}
	if len(b.saw) != 1 || !strings.Contains(b.saw[0], `"ran":true`) {
		t.Errorf("at the start the file holds %q", b.saw)
	}
}

// lost is a worker that is unreachable.
type lost struct {
	rounds.Members
	watching chan struct{}
	ended    atomic.Bool
}

func (*lost) Watch(ctx context.Context, _ string, _ func(rounds.Observation)) { <-ctx.Done() }

func (d *lost) Observe(context.Context) (worker.Observed, error) {
	<-d.watching
	return worker.Observed{}, errAway
}
func (*lost) Stop(context.Context, worker.Stop) error { return nil }
func (*lost) Remove(context.Context, []string) error  { return nil }

// watcher takes some time to return.
type watcher struct{ *lost }

func (w watcher) Watch(ctx context.Context, _ func()) {
	close(w.watching)
	<-ctx.Done()
	time.Sleep(20 * time.Millisecond)
	w.ended.Store(true)
}
func (watcher) Explain(err error) string { return err.Error() }

func TestWatchEndsBeforeRunReturnsAnError(t *testing.T) {
	d := &lost{watching: make(chan struct{})}
	parts := Parts{Driver: d, Watcher: watcher{d}, Report: func(string) {}, Store: d, Log: slog.New(slog.DiscardHandler)}
	if err := Run(t.Context(), Config{}, parts, worker.Config{}, worker.Fresh()); err == nil {
		t.Error("no error")
	}
	if !d.ended.Load() {
		t.Error("the watcher is still running")
	}
}
