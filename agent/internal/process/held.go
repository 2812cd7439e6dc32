package process

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// blindPause is the polling interval on kernels without pidfds, before Linux 5.3.
const blindPause = 5 * time.Millisecond

// held refers to processes by pidfd, so that a reused PID is not mistaken for the original process.
type held struct {
	fds   []unix.PollFd
	blind []int // PIDs without a pidfd
}

// hold opens the processes of a scan. It leaves out those that are gone or whose PID has been reused.
func hold(seen map[int]stat) *held {
	h := &held{}
	for pid, s := range seen {
		fd, err := unix.PidfdOpen(pid, 0)
		switch {
		case err == syscall.ESRCH:
		case err != nil:
			h.blind = append(h.blind, pid)
		case !still(pid, s):
			unix.Close(fd)
		default:
			h.fds = append(h.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		}
	}
	return h
}

func still(pid int, s stat) bool {
	now, err := readStat(pid)
	return err == nil && now.started == s.started
}

func (h *held) kill() {
	for _, p := range h.fds {
		_ = unix.PidfdSendSignal(int(p.Fd), unix.SIGKILL, nil, 0)
	}
	for _, pid := range h.blind {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// await returns when all are dead, or at the deadline. It closes the pidfds.
func (h *held) await(deadline time.Time) {
	if len(h.blind) > 0 {
		time.Sleep(min(blindPause, time.Until(deadline)))
		deadline = time.Now()
	}
	for len(h.fds) > 0 {
		left := time.Until(deadline)
		if left <= 0 {
			break
		}
		if _, err := unix.Poll(h.fds, int(left.Milliseconds())+1); err != nil && err != unix.EINTR {
			break
		}
		h.drop()
	}
	for _, p := range h.fds {
		unix.Close(int(p.Fd))
	}
	h.fds = nil
}

// drop closes the pidfds of dead processes.
func (h *held) drop() {
	living := h.fds[:0]
	for _, p := range h.fds {
		if p.Revents == 0 {
			living = append(living, p)
			continue
		}
		unix.Close(int(p.Fd))
	}
	h.fds = living
}
