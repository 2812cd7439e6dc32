package supervisor

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the worker: a role says how it behaves. All tell a witness what they do, and each holds a lock
// of its round as long as it lives, so that the kernel itself knows who overlaps with whom.
const (
	roleVariable    = "HOLDFAST_TEST_ROLE"
	slotVariable    = "HOLDFAST_TEST_SLOT"
	witnessVariable = "HOLDFAST_TEST_WITNESS"
	locksVariable   = "HOLDFAST_TEST_LOCKS"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { os.Exit(98) }) // longer than any test
	begin()
	roles[role]()
}

var roles = map[string]func(){
	// USR1 finishes it, USR2 fails it.
	"trains": func() {
		c := notify(syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP)
		tell("started")
		for s := range c {
			switch s {
			case syscall.SIGUSR1:
				os.Exit(0)
			case syscall.SIGUSR2:
				os.Exit(3)
			default:
				tell("hangup")
			}
		}
	},
	"exits 0 on TERM": func() {
		c := notify(syscall.SIGTERM)
		tell("started")
		<-c
		tell("terminated")
		os.Exit(0)
	},
	"ignores TERM": func() {
		signal.Ignore(syscall.SIGTERM)
		tell("started")
		select {}
	},
	"checkpoints": func() {
		file := os.Getenv(CheckpointVariable)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			tell("cannot-save")
		}
		c := notify(syscall.SIGTERM)
		tell("started")
		time.Sleep(300 * time.Millisecond) // the save itself
		select {
		case <-c:
			tell("disturbed")
		default:
			tell("saved")
		}
		os.Remove(file)
		<-c
		os.Exit(0)
	},
	"never saves": func() {
		_ = os.WriteFile(os.Getenv(CheckpointVariable), nil, 0o600)
		tell("started")
		select {}
	},
}

func notify(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 8)
	signal.Notify(c, signals...)
	return c
}

// begin tells if somebody of an earlier round still lives, and holds a lock as a sign of its own life.
func begin() {
	mine, err := strconv.Atoi(os.Getenv("HOLDFAST_RESTART_ROUND"))
	if err != nil {
		tell("without-round")
		return
	}
	for r := range mine {
		earlier, _ := filepath.Glob(filepath.Join(os.Getenv(locksVariable), fmt.Sprintf("%d.*", r)))
		for _, file := range earlier {
			if flock(file, syscall.LOCK_SH|syscall.LOCK_NB) != nil {
				tell("overlap")
			}
		}
	}
	if flock(filepath.Join(os.Getenv(locksVariable), fmt.Sprintf("%d.%d", mine, os.Getpid())), syscall.LOCK_EX) != nil {
		tell("overtaken")
	}
}

// flock locks a file for as long as this process lives.
func flock(file string, how int) error {
	fd, err := syscall.Open(file, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return syscall.Flock(fd, how)
}

func tell(what string) {
	c, err := net.Dial("unixgram", os.Getenv(witnessVariable))
	if err != nil {
		os.Exit(99)
	}
	fmt.Fprintf(c, "%s %s %s %d %s", what, os.Getenv(slotVariable), os.Getenv("HOLDFAST_RESTART_ROUND"), os.Getpid(),
		os.Getenv("HOLDFAST_RENDEZVOUS_ID"))
	c.Close()
}

// event is what a worker told.
type event struct {
	what, slot, round string
	pid               int
	rendezvous        string
}

// witness hears the workers of one group.
type witness struct {
	t           testing.TB
	conn        *net.UnixConn
	path, locks string
}

func newWitness(t testing.TB) *witness {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &witness{t, conn, path, dir}
}

func (w *witness) env(role, slot string) []string {
	return []string{roleVariable + "=" + role, slotVariable + "=" + slot, witnessVariable + "=" + w.path, locksVariable + "=" + w.locks}
}

// next is what is told next.
func (w *witness) next() event {
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
	return event{f[0], f[1], f[2], pid, f[4]}
}

// hear waits until each of n workers has told the same of a round, and returns their process numbers by slot. Anything
// else that is told meanwhile is a failure.
func (w *witness) hear(n int, what, round string) map[string]int {
	w.t.Helper()
	pids := map[string]int{}
	for len(pids) < n {
		e := w.next()
		if e.what != what || e.round != round {
			w.t.Fatalf("%+v was told, want %s of round %s (%d of %d so far)", e, what, round, len(pids), n)
		}
		pids[e.slot] = e.pid
	}
	return pids
}

// silent fails if anything is told for a while. It cannot prove that nothing comes later.
func (w *witness) silent(d time.Duration) {
	w.t.Helper()
	_ = w.conn.SetReadDeadline(time.Now().Add(d))
	var buffer [512]byte
	if n, err := w.conn.Read(buffer[:]); err == nil {
		w.t.Errorf("%q was told, want nothing", buffer[:n])
	}
}
