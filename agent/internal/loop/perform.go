package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

// removeRetry is the pause after the runtime refused to remove containers; it doubles so often.
const (
	removeRetry   = 2 * time.Second
	removeDoubles = 4
)

// saveRetry is the pause after the volume refused a file.
const saveRetry = time.Second

// perform does one action. Files are written at once, before the actions that follow; all else runs beside the loop.
func (l *loop) perform(a member.Action) {
	group := l.config.Group
	switch a := a.(type) {
	case member.Join:
		l.call(func(ctx context.Context) (coordination.Reply, error) { return l.Store.Join(ctx, group, a.Join) })
	case member.Down:
		l.call(func(ctx context.Context) (coordination.Reply, error) { return l.Store.Down(ctx, group, a.Down) })
	case member.Ask:
		l.call(func(ctx context.Context) (coordination.Reply, error) {
			return l.Store.Ask(ctx, group, a.Member, a.Kind)
		})
	case member.Stop:
		l.beside.Go(func() { l.stop(a) })
	case member.Remove:
		l.beside.Go(func() { l.remove(a) })
	case member.Save:
		l.save(a.Memory)
	case member.WriteRound:
		l.writeRound(a)
	case member.Look:
		time.AfterFunc(l.config.PollingInterval, l.wake)
	case member.Begin:
		l.Barrier.Begin()
	case member.Lift:
		l.Barrier.Lift(a.ID, a.Epoch, a.Round)
	case member.Release:
		l.released = true
	case member.Log:
		l.Log.Log(l.work, severity(a.Severity), a.Message, a.Fields...)
	}
}

func (l *loop) call(do func(context.Context) (coordination.Reply, error)) {
	l.beside.Go(func() {
		ctx, cancel := context.WithTimeout(l.work, callTimeout)
		defer cancel()
		reply, err := do(ctx)
		l.post(member.Answered{Reply: reply, Err: err})
	})
}

func (l *loop) stop(s member.Stop) {
	start := time.Now()
	err := l.Driver.Stop(l.work, s)
	l.wake()
	l.post(member.StopEnded{ID: s.ID, Took: time.Since(start), Err: err})
}

// remove runs once at a time. A look during it asks for the same again, a look after it only if something is left.
func (l *loop) remove(r member.Remove) {
	if !l.removing.CompareAndSwap(false, true) {
		return
	}
	defer l.removing.Store(false)
	if l.refused.again(r.IDs, time.Now()) {
		return
	}
	if err := l.Driver.Remove(l.work, r.IDs); err != nil {
		pause := l.refused.note(r.IDs, time.Now())
		if l.refused.times == 1 {
			l.Log.Warn("the exited containers are still there: the kubelet may take the worker for finished", "error", err)
		}
		time.AfterFunc(pause, l.wake)
		return
	}
	l.refused = refusal{}
	l.Log.Info("removed the exited containers, so that a new one is started", "containers", r.IDs)
	time.AfterFunc(lookRetry, l.wake)
}

// refusal is what the runtime would not remove.
type refusal struct {
	ids   []string
	times int
	until time.Time
}

// again tells whether it is too early to ask for the same again.
func (r *refusal) again(ids []string, now time.Time) bool {
	return r.times > 0 && now.Before(r.until) && slices.Equal(ids, r.ids)
}

// note counts one more, and returns how long to wait.
func (r *refusal) note(ids []string, now time.Time) (pause time.Duration) {
	if !slices.Equal(ids, r.ids) {
		r.times = 0
	}
	pause = removeRetry << min(r.times, removeDoubles)
	r.ids, r.times, r.until = ids, r.times+1, now.Add(pause)
	return pause
}

func (l *loop) writeRound(w member.WriteRound) {
	if l.config.StartupDir == "" {
		return
	}
	err := startup.SaveEnv(l.config.StartupDir, l.config.Group, w.Epoch, w.Round)
	if err == nil {
		l.untold = nil
		return
	}
	if l.untold == nil {
		l.Log.Warn("the worker cannot be told its round: trying again", "error", err)
	}
	l.untold = &w
}

func (l *loop) save(m member.Memory) {
	if l.config.StartupDir == "" {
		return
	}
	err := startup.Save(l.config.StartupDir, l.config.Pod, m)
	if err == nil {
		l.unsaved = nil
		return
	}
	if l.unsaved == nil {
		l.Log.Error("the start-up file cannot be written: trying again", "error", err)
	}
	l.unsaved = &m
}

// saveAgain writes what the volume has refused so far.
func (l *loop) saveAgain() {
	if l.unsaved != nil {
		l.save(*l.unsaved)
	}
	if l.untold != nil {
		l.writeRound(*l.untold)
	}
}

func severity(s member.Severity) slog.Level {
	return map[member.Severity]slog.Level{member.Info: slog.LevelInfo, member.Warning: slog.LevelWarn, member.Error: slog.LevelError}[s]
}
