package workers

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Event is a report from a worker.
type Event struct {
	What, Slot, Round string
	PID               int
	Rendezvous        string
}

// Recorder receives reports from the workers of one group.
type Recorder struct {
	Dir  string // the test's directory
	t    testing.TB
	conn *net.UnixConn
	path string
}

// NewRecorder starts listening.
func NewRecorder(t testing.TB) *Recorder {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &Recorder{dir, t, conn, path}
}

// Env returns the environment variables with a worker's role and the recorder's socket.
func (r *Recorder) Env(role, slot string) []string {
	return []string{roleVariable + "=" + role, slotVariable + "=" + slot, recorderVariable + "=" + r.path, locksVariable + "=" + r.Dir}
}

// Next returns the next event.
func (r *Recorder) Next() Event {
	r.t.Helper()
	if err := r.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	var buffer [512]byte
	n, err := r.conn.Read(buffer[:])
	if err != nil {
		r.t.Fatalf("no event arrived: %v", err)
	}
	f := strings.Split(string(buffer[:n]), " ")
	pid, _ := strconv.Atoi(f[3])
	return Event{f[0], f[1], f[2], pid, f[4]}
}

// Await waits until each of n workers has reported the given event for the given round, and returns their PIDs by slot.
// Any other event fails the test.
func (r *Recorder) Await(n int, what, round string) map[string]int {
	r.t.Helper()
	pids := map[string]int{}
	for len(pids) < n {
		e := r.Next()
		if e.What != what || e.Round != round {
			r.t.Fatalf("got %+v, want %s of round %s (%d of %d so far)", e, what, round, len(pids), n)
		}
		pids[e.Slot] = e.PID
	}
	return pids
}

// ExpectNone fails the test if an event arrives within d. It cannot prove that none arrives later.
func (r *Recorder) ExpectNone(d time.Duration) {
	r.t.Helper()
	_ = r.conn.SetReadDeadline(time.Now().Add(d))
	var buffer [512]byte
	if n, err := r.conn.Read(buffer[:]); err == nil {
		r.t.Errorf("got %q, want no event", buffer[:n])
	}
}
