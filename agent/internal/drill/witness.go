package drill

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Event is what a worker reported.
type Event struct {
	What, Slot, Round string
	PID               int
	Rendezvous        string
}

// Witness receives the reports of the workers of one group.
type Witness struct {
	Dir  string // of the test
	t    testing.TB
	conn *net.UnixConn
	path string
}

// NewWitness starts to listen.
func NewWitness(t testing.TB) *Witness {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &Witness{dir, t, conn, path}
}

// Env returns the environment that gives a worker its role and the socket of the witness.
func (w *Witness) Env(role, slot string) []string {
	return []string{roleVariable + "=" + role, slotVariable + "=" + slot, witnessVariable + "=" + w.path, locksVariable + "=" + w.Dir}
}

// Next returns the next event.
func (w *Witness) Next() Event {
	w.t.Helper()
	if err := w.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		w.t.Fatal(err)
	}
	var buffer [512]byte
	n, err := w.conn.Read(buffer[:])
	if err != nil {
		w.t.Fatalf("nothing was told: %v", err)
	}
	f := strings.Split(string(buffer[:n]), " ")
	pid, _ := strconv.Atoi(f[3])
	return Event{f[0], f[1], f[2], pid, f[4]}
}

// Hear waits until each of n workers has reported the same event of a round, and returns their PIDs by slot. Any other
// event is a failure.
func (w *Witness) Hear(n int, what, round string) map[string]int {
	w.t.Helper()
	pids := map[string]int{}
	for len(pids) < n {
		e := w.Next()
		if e.What != what || e.Round != round {
			w.t.Fatalf("%+v was told, want %s of round %s (%d of %d so far)", e, what, round, len(pids), n)
		}
		pids[e.Slot] = e.PID
	}
	return pids
}

// Silent fails if an event arrives within d. It cannot prove that none comes later.
func (w *Witness) Silent(d time.Duration) {
	w.t.Helper()
	_ = w.conn.SetReadDeadline(time.Now().Add(d))
	var buffer [512]byte
	if n, err := w.conn.Read(buffer[:]); err == nil {
		w.t.Errorf("%q was told, want nothing", buffer[:n])
	}
}
