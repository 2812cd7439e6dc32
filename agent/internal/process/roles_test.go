package process

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the program under test. The role determines what it does. The recorder is the socket on which
// each process of the tree reports its name.
const (
	roleVariable     = "HOLDFAST_TEST_ROLE"
	recorderVariable = "HOLDFAST_TEST_RECORDER"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	roles[role]()
	os.Exit(0)
}

var roles = map[string]func(){
	"exits 3":      func() { tell("leader"); os.Exit(3) },
	"exits 0":      func() { tell("leader") },
	"kills itself": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); forever() },
	"waits":        func() { tell("leader"); forever() },
	"ignores TERM": func() { signal.Ignore(syscall.SIGTERM); tell("leader"); forever() },
	"exits 0 on TERM": func() {
		term := notify(syscall.SIGTERM)
		tell("leader")
		<-term
		tell("terminated")
	},
	"tells signals": func() {
		all := notify(syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGINT)
		tell("leader")
		for s := range all {
			tell(s.String())
		}
	},
	"leaves a daemon": func() {
		spawn("spawns a daemon and exits", &syscall.SysProcAttr{})
		tell("leader")
		forever()
	},
	"spawns a daemon and exits": func() { spawn("is a daemon", &syscall.SysProcAttr{Setsid: true}) },
	"is a daemon":               func() { signal.Ignore(syscall.SIGTERM, syscall.SIGHUP); tell("daemon"); forever() },
	"has a child in another group": func() {
		spawn("ignores TERM as a member", &syscall.SysProcAttr{Setpgid: true})
		tell("leader")
		forever()
	},
	"ignores TERM as a member": func() { signal.Ignore(syscall.SIGTERM); tell("member"); forever() },
	"leaves a saving child": func() {
		signal.Ignore(syscall.SIGTERM)
		spawn("saves on TERM", &syscall.SysProcAttr{})
		tell("leader")
		os.Exit(1)
	},
	"has a saving child": func() {
		spawn("saves on TERM", &syscall.SysProcAttr{})
		term := notify(syscall.SIGTERM)
		tell("leader")
		<-term
	},
	"saves on TERM": func() {
		term := notify(syscall.SIGTERM)
		tell("member")
		<-term
		time.Sleep(50 * time.Millisecond) // writing the checkpoint
		tell("saved")
	},
	"dies but for a thread": func() {
		go forever()
		tell("leader")
		runtime.LockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // ends only this thread, which is the main thread
	},
	"leaves an orphan that exits": func() {
		spawn("spawns a short orphan and exits", &syscall.SysProcAttr{})
		tell("leader")
		forever()
	},
	"spawns a short orphan and exits": func() { spawn("is a short orphan", &syscall.SysProcAttr{}) },
	"is a short orphan":               func() { tell("orphan") },
}

func init() { runtime.LockOSThread() } // main runs on the main thread, which one of the roles ends

// forever sleeps for longer than any test. Processes left behind by a test still exit eventually.
func forever() {
	time.Sleep(time.Minute)
	os.Exit(98)
}

func notify(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 8)
	signal.Notify(c, signals...)
	return c
}

func spawn(role string, attr *syscall.SysProcAttr) {
	env := []string{roleVariable + "=" + role, recorderVariable + "=" + os.Getenv(recorderVariable)}
	if _, err := syscall.ForkExec(os.Args[0], os.Args[:1], &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attr}); err != nil {
		panic(err)
	}
}

func tell(what string) {
	c, err := net.Dial("unixgram", os.Getenv(recorderVariable))
	if err != nil {
		os.Exit(99)
	}
	fmt.Fprintf(c, "%s %d", strings.ReplaceAll(what, " ", "_"), os.Getpid())
	c.Close()
}

// recorder receives reports from the processes of one tree.
type recorder struct {
	t    *testing.T
	conn *net.UnixConn
	path string
}

func newRecorder(t *testing.T) *recorder {
	path := filepath.Join(t.TempDir(), "w")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &recorder{t, conn, path}
}

func (w *recorder) spec(role string) Spec {
	return Spec{Path: os.Args[0], Args: os.Args[:1], Env: []string{roleVariable + "=" + role, recorderVariable + "=" + w.path}}
}

// await waits until each of the names has been reported once, in any order, and returns their PIDs.
func (w *recorder) await(names ...string) map[string]int {
	w.t.Helper()
	heard := map[string]int{}
	if err := w.conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		w.t.Fatal(err)
	}
	for len(heard) < len(names) {
		var buffer [256]byte
		n, err := w.conn.Read(buffer[:])
		if err != nil {
			w.t.Fatalf("heard %v, want %v: %v", heard, names, err)
		}
		var name string
		var pid int
		fmt.Sscan(string(buffer[:n]), &name, &pid)
		heard[strings.ReplaceAll(name, "_", " ")] = pid
	}
	for _, name := range names {
		if heard[name] == 0 {
			w.t.Fatalf("heard %v, want %v", heard, names)
		}
	}
	return heard
}
