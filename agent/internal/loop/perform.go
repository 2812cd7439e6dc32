package loop

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// removeRetry is the pause after the runtime has failed to remove containers. It doubles up to removeDoubles times.
const (
	removeRetry   = 2 * time.Second
	removeDoubles = 4
)

// saveRetry is the pause after a failed write to the volume.
const saveRetry = time.Second

// perform performs one action. It writes files before it returns, and starts a goroutine for anything that takes time.
func (l *loop) perform(a worker.Action) {
	switch a := a.(type) {
	case worker.Call:
		l.goroutines.Go(func() { l.call(a.Call) })
	case worker.Read:
		l.goroutines.Go(l.read)
	case worker.Stop:
		l.goroutines.Go(func() { l.stop(a) })
	case worker.Remove:
		l.goroutines.Go(func() { l.remove(a) })
	case worker.Save:
		l.save(startup.FileName, startup.Encode(l.config.Pod, a.Memory))
	case worker.TellRound:
		l.save(startup.EnvName, startup.Env(l.config.Group, a.Generation, a.Round))
	case worker.Observe:
		time.AfterFunc(l.config.PollingInterval, l.wake)
	case worker.Prepare:
		l.Barrier.Prepare()
	case worker.Start:
		l.Barrier.Start(a.ID, a.Generation, a.Round, a.Slot)
	case worker.Release:
		l.released = true
	case worker.Log:
		l.Log.Log(l.work, severity(a.Severity), a.Message, a.Fields...)
	}
}

func (l *loop) call(c rounds.Call) {
	ctx, cancel := context.WithTimeout(l.work, callTimeout)
	defer cancel()
	reply, now, err := l.Store.Call(ctx, l.config.Group, c)
	l.post(worker.Answered{Reply: reply, Now: now, Err: err})
}

func (l *loop) stop(s worker.Stop) {
	start := time.Now()
	err := l.Driver.Stop(l.work, s)
	l.wake()
	l.post(worker.StopEnded{ID: s.ID, Took: time.Since(start), Err: err})
}

// remove does not run concurrently with itself. If containers are left, a later observation requests their removal
// again.
func (l *loop) remove(r worker.Remove) {
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
			l.Log.Warn("removing exited containers failed; the kubelet may treat the worker as completed", "error", err)
		}
		time.AfterFunc(pause, l.wake)
		return
	}
	l.refused = refusal{}
	l.Log.Info("removed the exited containers so that the kubelet starts a new one", "containers", r.IDs)
	time.AfterFunc(observeRetry, l.wake)
}

// refusal records which containers the runtime failed to remove.
type refusal struct {
	ids   []string
	times int
	until time.Time
}

// again reports whether it is too early to retry the removal of the same containers.
func (r *refusal) again(ids []string, now time.Time) bool {
	return r.times > 0 && now.Before(r.until) && slices.Equal(ids, r.ids)
}

// note records another failed removal, and returns how long to wait.
func (r *refusal) note(ids []string, now time.Time) (pause time.Duration) {
	if !slices.Equal(ids, r.ids) {
		r.times = 0
	}
	pause = removeRetry << min(r.times, removeDoubles)
	r.ids, r.times, r.until = ids, r.times+1, now.Add(pause)
	return pause
}

// save writes a file to the volume, where workers running as any user can read it. After an error, step tries again.
func (l *loop) save(name string, content []byte) {
	if l.config.StartupDir == "" {
		return
	}
	err := startup.Replace(l.config.StartupDir, name, 0o644, bytes.NewReader(content))
	if err == nil {
		delete(l.unsaved, name)
		return
	}
	if l.unsaved[name] == nil {
		l.Log.Error("writing a file for the next start failed, retrying", "error", err)
	}
	l.unsaved[name] = content
}

func severity(s worker.Severity) slog.Level {
	return map[worker.Severity]slog.Level{worker.Info: slog.LevelInfo, worker.Warning: slog.LevelWarn, worker.Error: slog.LevelError}[s]
}
