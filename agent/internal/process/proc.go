package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const zombie = 'Z'

// stat is what /proc reports about a process.
type stat struct {
	state           byte
	parent, session int
	threads         int
	started         int // in ticks since boot; unique together with the PID
}

// alive reports whether the process is still running. If the thread group leader exits before the other threads, the
// process is shown as a zombie although it is still running.
func (s stat) alive() bool { return (s.state != zombie && s.state != 'X') || s.threads > 1 }

// processes returns all visible processes. It omits processes that vanish while it reads them.
func processes() (map[int]stat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all := make(map[int]stat, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		switch s, err := readStat(pid); {
		case err == nil:
			all[pid] = s
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH):
			return nil, fmt.Errorf("reading process %d: %w", pid, err)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("listing processes: /proc is empty")
	}
	return all, nil
}

// readStat bypasses the Go runtime's poller, because /proc never blocks and a scan may read hundreds of files.
func readStat(pid int) (stat, error) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, err
	}
	defer syscall.Close(fd)
	var buffer [1024]byte
	n, err := syscall.Read(fd, buffer[:])
	if err != nil {
		return stat{}, err
	}
	return parseStat(buffer[:n])
}

var errStat = errors.New("not a line of /proc/PID/stat")

// parseStat parses a line of /proc/PID/stat, see proc(5). The process name may contain spaces and parentheses, so the
// fields are counted from the last parenthesis.
func parseStat(line []byte) (stat, error) {
	end := bytes.LastIndexByte(line, ')')
	f := bytes.Fields(line[end+1:])
	if end < 0 || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errStat
	}
	s := stat{state: f[0][0]}
	for to, from := range map[*int][]byte{&s.parent: f[1], &s.session: f[3], &s.threads: f[17], &s.started: f[19]} {
		n, err := strconv.Atoi(string(from))
		if err != nil {
			return stat{}, errStat
		}
		*to = n
	}
	return s, nil
}

// members returns the living processes of the tree: the descendants of the leader and all processes in its session.
// With a Reaper these are all descendants of this process, because orphans have become its children.
func (c *Child) members() (map[int]stat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	roots := map[int]bool{c.pid: true}
	if c.reaper != nil {
		roots[os.Getpid()] = true
	}
	tree := map[int]stat{}
	for pid, s := range all {
		ours := s.session == c.pid || descends(all, pid, roots)
		if !ours || !s.alive() || pid == os.Getpid() || c.reaper != nil && c.reaper.isTemplate(all, pid) {
			continue
		}
		tree[pid] = s
	}
	return tree, nil
}

// descends reports whether a process is one of the roots or a descendant of one. The walk is bounded, because a list
// that was read while PIDs were being reused could contain a cycle.
func descends(all map[int]stat, pid int, roots map[int]bool) bool {
	for range len(all) {
		if roots[pid] {
			return true
		}
		s, ok := all[pid]
		if !ok {
			return false
		}
		pid = s.parent
	}
	return false
}

// blindPause is the polling interval on kernels without pidfds (before Linux 5.4).
const blindPause = 5 * time.Millisecond

// hold opens a pidfd for each process that a scan has found, so that a reused PID is not mistaken for the original
// process. It skips processes that have exited, and PIDs that were reused.
func hold(seen map[int]stat) []*os.Process {
	var held []*os.Process
	for pid, s := range seen {
		p, _ := os.FindProcess(pid) // never fails
		if now, err := readStat(pid); err == nil && now.started == s.started {
			held = append(held, p)
		} else {
			_ = p.Release()
		}
	}
	return held
}

// await returns once all processes are dead, or at the deadline. It closes the pidfds.
func await(held []*os.Process, deadline time.Time) {
	for _, p := range held {
		err := p.WithHandle(func(pidfd uintptr) {
			poll := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
			for left := time.Until(deadline); left > 0 && poll[0].Revents == 0; left = time.Until(deadline) {
				if _, err := unix.Poll(poll, int(left.Milliseconds())+1); err != nil && err != unix.EINTR {
					return
				}
			}
		})
		if errors.Is(err, os.ErrNoHandle) {
			time.Sleep(min(blindPause, time.Until(deadline)))
			deadline = time.Now() // the caller scans again
		}
		_ = p.Release()
	}
}
