package process

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// blindPause is the polling interval on kernels without pidfds, before Linux 5.3.
const blindPause = 5 * time.Millisecond

// held are processes that are named by descriptors: a number that is given to somebody else meanwhile is not mistaken.
type held struct {
	fds   []unix.PollFd
	blind []int // there are no descriptors for these
}

// hold takes hold of processes that were seen. Those that are gone, or others by now, are left out.
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

// await returns when all are dead, or at the deadline, and lets them go.
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

// drop lets go of the dead.
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
