package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalled is added to a signal's number to form an exit code, as shells do.
const signalled = 128

// Exit describes how a leader ended.
type Exit struct {
	Code   int            // the exit code; 128 plus the signal's number if it was killed
	Signal syscall.Signal // that killed it; 0: none
	At     time.Time      // when this process learned of it
}

// CodeOf returns the exit code that stands for a signal.
func CodeOf(s syscall.Signal) int { return signalled + int(s) }

// Codes in the kernel's siginfo for SIGCHLD.
const exitedByItself = 1 // CLD_EXITED; all other codes that waitid returns here are deaths by a signal

// siginfo is filled in by waitid on 64-bit Linux. The type in x/sys hides the status.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// awaitExit blocks until a child has exited, and leaves it a zombie.
func awaitExit(pid int) (e Exit, err error) {
	var info siginfo
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_PID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		switch {
		case errno == 0 && info.code == exitedByItself:
			return Exit{Code: int(info.status)}, nil
		case errno == 0:
			killer := syscall.Signal(info.status)
			return Exit{Code: CodeOf(killer), Signal: killer}, nil
		case !errors.Is(errno, syscall.EINTR):
			return Exit{}, fmt.Errorf("waiting for process %d: %w", pid, errno)
		}
	}
}

// reap removes a zombie. It never blocks.
func reap(pid int) {
	for {
		_, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
