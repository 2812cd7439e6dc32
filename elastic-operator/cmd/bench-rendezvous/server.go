package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server runs in a separate process so that its CPU time and memory can be measured without those of the clients.
type server struct {
	address string
	process *exec.Cmd
}

func startServer(binary string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	l.Close()
	s := &server{address: address, process: exec.Command(binary, "--listen="+address, "--metrics=127.0.0.1:0", "--run-id=run")}
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.Join(errors.New("the server did not start listening within 5s"), s.stop())
}

func (s *server) stop() error {
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.process.Wait()
}

// tick is the unit of CPU times in /proc. Linux uses 10 ms on all architectures that Go supports.
const tick = 10 * time.Millisecond

// cpu returns the CPU time used by the server.
func (s *server) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick, errors.Join(err, err2)
}

// memory returns the resident memory of the server in bytes.
func (s *server) memory() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
