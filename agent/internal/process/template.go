package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// importPatience is how long a start waits for a template that is still importing modules. After that the program
	// is started cold.
	importPatience = time.Minute
	// forkPatience limits how long a fork may take. It normally takes milliseconds.
	forkPatience = 5 * time.Second
	// shortestPause is the pause before a template is replaced for the first time. The pause then doubles each time, up
	// to longestPause.
	shortestPause = time.Second
	longestPause  = time.Minute
)

// ErrNotPython means that a program cannot be started from a template.
var ErrNotPython = errors.New("a warm start needs a command such as python train.py or python -m train")

// Templates starts a Python program as a fork of a process that has already imported its modules. It keeps one such
// process, called the template, and replaces it when it dies. If the fork fails, it starts the program as Reaper.Start
// does.
type Templates struct {
	reaper  *Reaper
	spec    Spec
	log     *slog.Logger
	current atomic.Pointer[template]
}

// template is one process that has imported the modules, or is importing them.
type template struct {
	process *os.Process
	socket  *net.UnixConn
	ready   chan struct{} // closed when it has imported all modules or is dead
}

// NewTemplates starts a template for a program. modules is a comma-separated list. It returns ErrNotPython if the
// program is not run by a Python interpreter.
func NewTemplates(r *Reaper, program Spec, modules string, log *slog.Logger) (*Templates, error) {
	if !forkable(program.Args) {
		return nil, fmt.Errorf("%w, not %q", ErrNotPython, strings.Join(program.Args, " "))
	}
	spec := program
	spec.Args = []string{program.Args[0]}
	if program.Args[1] == "-u" { // the program inherits the unbuffered streams
		spec.Args = append(spec.Args, "-u")
	}
	spec.Args = append(spec.Args, "-m", "holdfast.template")
	spec.Args = append(spec.Args, strings.Split(modules, ",")...)
	t := &Templates{reaper: r, spec: spec, log: log}
	first, err := t.begin()
	if err != nil {
		return nil, err
	}
	go t.keep(first)
	return t, nil
}

// forkable reports whether a command runs a script or a module in a Python interpreter, with no option except -u.
func forkable(args []string) bool {
	if !strings.HasPrefix(filepath.Base(args[0]), "python") {
		return false
	}
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "-u" {
		rest = rest[1:]
	}
	return len(rest) > 0 && (!strings.HasPrefix(rest[0], "-") || rest[0] == "-m" && len(rest) > 1)
}

// keep replaces every template that exits, for as long as this process runs.
func (t *Templates) keep(one *template) {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		exit := t.await(one)
		if time.Since(began) > longestPause {
			pause = shortestPause
		}
		for one = nil; one == nil; {
			t.log.Warn("the warm-start template exited, starting another one", "exit", exit.String(), "pause", pause.String())
			time.Sleep(pause)
			var err error
			if one, err = t.begin(); err != nil {
				t.log.Error("starting a warm-start template failed", "error", err)
			}
		}
	}
}

func (t *Templates) begin() (*template, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("creating the socket of a template: %w", err)
	}
	defer syscall.Close(ends[1])
	file := os.NewFile(uintptr(ends[0]), "template")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("creating the socket of a template: %w", err)
	}
	one := &template{socket: conn.(*net.UnixConn), ready: make(chan struct{})}
	pid, err := t.reaper.lead(true, func() (int, error) { return fork(t.spec, uintptr(ends[1])) })
	if err != nil {
		conn.Close()
		return nil, err
	}
	one.process, _ = os.FindProcess(pid) // never fails
	t.current.Store(one)
	go func() {
		defer close(one.ready)
		if answer, err := one.read(time.Time{}); err == nil {
			t.log.Info("warm-start template ready", "pid", pid, "modules", answer)
		}
	}()
	return one, nil
}

// await waits until a template has exited, and reaps it.
func (t *Templates) await(one *template) *os.ProcessState {
	exit, _ := one.process.Wait() // nil after an error
	t.current.Store(nil)
	<-one.ready
	t.reaper.mu.Lock()
	defer t.reaper.mu.Unlock()
	delete(t.reaper.leaders, one.process.Pid)
	one.socket.Close() // under the lock, so that no start is using it
	return exit
}

// Await waits until the current template has imported its modules, for importPatience at most.
func (t *Templates) Await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, importPatience)
	defer cancel()
	if one := t.current.Load(); one != nil {
		select {
		case <-one.ready:
		case <-ctx.Done():
		}
	}
}

// Start runs the program as a fork of the template, or cold if no template is ready or the fork fails.
func (t *Templates) Start(s Spec) (*Child, error) {
	one := t.current.Load()
	if one != nil && one.isReady() {
		c, err := t.reaper.start(func() (int, error) { return one.fork(s) })
		if err == nil {
			return c, nil
		}
		t.log.Warn("warm start failed, starting the program cold", "error", err)
		_ = one.process.Kill() // it is unresponsive; keep replaces it
	}
	return t.reaper.Start(s)
}

func (t *template) isReady() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// request is sent to a template, together with the descriptors for the program's output and a pipe. The program starts
// once it has read a byte from the pipe, and never if the pipe is closed: an abandoned fork must not run alongside the
// cold start.
type request struct {
	Args   []string          `json:"args"`
	Env    map[string]string `json:"env"`
	Parent int               `json:"parent"`
}

// fork makes the template start a program, and returns the program's PID. The program is then a child of this process.
func (t *template) fork(s Spec) (pid int, err error) {
	q := request{Args: s.Args[1:], Env: map[string]string{}, Parent: os.Getpid()}
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		q.Env[name] = value
	}
	message, err := json.Marshal(q)
	if err != nil {
		return 0, err
	}
	files := []int{1, 2}
	for i, output := range s.Output {
		if output != 0 {
			files[i] = int(output)
		}
	}
	waits, starts, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("creating a pipe for the program: %w", err)
	}
	defer starts.Close()
	deadline := time.Now().Add(forkPatience)
	err = t.write(message, append(files, int(waits.Fd())), deadline)
	waits.Close()
	if err != nil {
		return 0, fmt.Errorf("requesting a process from the template: %w", err)
	}
	answer, err := t.read(deadline)
	if err != nil {
		return 0, fmt.Errorf("waiting for the template: %w", err)
	}
	if pid, err = strconv.Atoi(answer); err == nil {
		_, _ = starts.Write([]byte{1}) // fails if the program has been killed, which its parent notices
	}
	return pid, err
}

func (t *template) write(message []byte, files []int, deadline time.Time) error {
	if err := t.socket.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, _, err := t.socket.WriteMsgUnix(message, unix.UnixRights(files...), nil)
	return err
}

// read returns the next message. A zero deadline means no limit.
func (t *template) read(deadline time.Time) (string, error) {
	if err := t.socket.SetReadDeadline(deadline); err != nil {
		return "", err
	}
	var b [4096]byte
	n, err := t.socket.Read(b[:])
	return string(b[:n]), err
}

// isTemplate reports whether a process is a template or a descendant of one.
func (r *Reaper) isTemplate(all map[int]stat, pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return descends(all, pid, r.leaders)
}
