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
	all []rounds.Observation
}

func (s *script) Observe(context.Context, string, rounds.Slot) rounds.Observation {
	next := s.all[0]
	s.all = s.all[1:]
	return next
}

func newLoop(t *testing.T, s *script) *loop {
	return &loop{Parts: Parts{Store: s, Log: slog.New(slog.DiscardHandler)}, events: make(chan worker.Event, 64), work: t.Context()}
}

func at(seq int64) rounds.Observation {
	return rounds.Observation{Level: rounds.Level{Seq: seq}, Read: true}
}

// posted returns a short description of each event that the core received.
func (l *loop) posted() (words []string) {
	for len(l.events) > 0 {
		switch e := (<-l.events).(worker.Updated); {
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
	return words
}

func expect(t *testing.T, l *loop, want ...string) {
	t.Helper()
	if got := l.posted(); !slices.Equal(got, want) {
		t.Errorf("the core received %q, want %q", got, want)
	}
}

var errAway = errors.New("connection refused")

func TestAFailedReadIsRepeated(t *testing.T) {
	l := newLoop(t, &script{all: []rounds.Observation{{Err: errAway}, at(2)}})
	l.read()
	expect(t, l, "error", "read 2")
}

func TestAnUnknownSlotIsAReply(t *testing.T) {
	l := newLoop(t, &script{all: []rounds.Observation{{Read: true, Err: coordination.ErrUnknownSlot}}})
	l.read()
	l.updated(rounds.Observation{Level: rounds.Level{Seq: 1}})
	expect(t, l, "read error", "message 1")
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

// silent is a store that sends nothing.
type silent struct{ rounds.Members }

func (silent) Watch(ctx context.Context, _ string, _ rounds.Slot, _ func(rounds.Observation)) {
	<-ctx.Done()
}

// lost is an unreachable worker.
type lost struct {
	watching chan struct{}
	ended    atomic.Bool
}

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

func TestWatchEndsBeforeRunReturnsAnError(t *testing.T) {
	d := &lost{watching: make(chan struct{})}
	parts := Parts{Driver: d, Watcher: watcher{d}, Report: func(string) {}, Store: silent{}, Log: slog.New(slog.DiscardHandler)}
	if err := Run(t.Context(), Config{}, parts, worker.Config{}, worker.Fresh()); err == nil {
		t.Error("no error")
	}
	if !d.ended.Load() {
		t.Error("the watcher is still running")
	}
}
