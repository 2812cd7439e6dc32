package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

const zombie = 'Z'

// stat is what /proc reports about a process.
type stat struct {
	state           byte
	parent, session int
	threads         int
	started         int64 // ticks since boot; together with the PID it is unique
}

// alive reports whether the process still runs. A thread group leader that exits before its other threads is a zombie
// that still runs.
func (s stat) alive() bool { return (s.state != zombie && s.state != 'X') || s.threads > 1 }

// processes returns all visible processes. It leaves out those that vanish while it reads.
func processes() (map[int]stat, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(0)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	all := make(map[int]stat, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		switch s, err := readStat(pid); {
		case err == nil:
			all[pid] = s
		case !vanished(err):
			return nil, fmt.Errorf("reading process %d: %w", pid, err)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("listing processes: /proc is empty")
	}
	return all, nil
}

func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
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

// parseStat parses a line of /proc/PID/stat, see proc(5). The process name may contain blanks and brackets, so the
// fields are counted after the last bracket.
func parseStat(line []byte) (stat, error) {
	_, rest, ok := cutLast(line, ')')
	f := bytes.Fields(rest)
	if !ok || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, errStat
	}
	s := stat{state: f[0][0]}
	for to, from := range map[*int][]byte{&s.parent: f[1], &s.session: f[3], &s.threads: f[17]} {
		n, err := strconv.Atoi(string(from))
		if err != nil {
			return stat{}, errStat
		}
		*to = n
	}
	started, err := strconv.ParseInt(string(f[19]), 10, 64)
	if err != nil {
		return stat{}, errStat
	}
	s.started = started
	return s, nil
}

func cutLast(line []byte, sep byte) (before, after []byte, found bool) {
	i := bytes.LastIndexByte(line, sep)
	if i < 0 {
		return line, nil, false
	}
	return line[:i], line[i+1:], true
}
