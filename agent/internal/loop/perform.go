package loop

import (
	"bytes"
	"context"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// removeRetry is the pause after the runtime has failed to remove containers.
	removeRetry = 2 * time.Second
	// saveRetry is the pause after a failed write to the volume.
	saveRetry = time.Second
)

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
		l.save(startup.FileName, startup.Encode(l.config.PodUID, a.Memory))
	case worker.TellRound:
		l.save(startup.EnvName, startup.Env(l.config.JobSetUID, a.Generation, a.Round))
	case worker.Observe:
		time.AfterFunc(l.config.PollingInterval, l.wake)
	case worker.Prepare:
		l.Barrier.Prepare()
	case worker.Start:
		l.Barrier.Start(a.ID, a.Generation, a.Round, a.Slot)
	case worker.Release:
		l.released = true
	case worker.Log:
		l.Log.Log(l.work, a.Level, a.Message, a.Fields...)
	}
}

func (l *loop) call(c rounds.Call) {
	ctx, cancel := context.WithTimeout(l.work, callTimeout)
	defer cancel()
	reply, now, err := l.Store.Call(ctx, l.config.JobSetUID, c)
	l.config.Contact.note(err)
	l.post(worker.Answered{Reply: reply, Now: now, Err: err})
}

func (l *loop) stop(s worker.Stop) {
	start := time.Now()
	err := l.Driver.Stop(l.work, s)
	l.wake()
	l.post(worker.StopEnded{ID: s.ID, Took: time.Since(start), Err: err})
}

// remove does not run concurrently with itself, and pauses after an error. If containers are left, a later observation
// requests their removal again.
func (l *loop) remove(r worker.Remove) {
	if !l.removing.CompareAndSwap(false, true) {
		return
	}
	if err := l.Driver.Remove(l.work, r.IDs); err != nil {
		l.Log.Warn("removing exited containers failed, retrying; the kubelet may treat the worker as completed", "error", err)
		l.sleep(removeRetry)
	} else {
		l.Log.Info("removed the exited containers so that the kubelet starts a new one", "containers", r.IDs)
	}
	l.removing.Store(false)
	time.AfterFunc(observeRetry, l.wake)
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
