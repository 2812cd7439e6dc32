// Package workers is shared by tests of supervisors. It provides workers that are the test binary itself, a recorder
// that receives their reports, and a redis-server.
package workers

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The test binary is also the worker. Its role determines how it behaves. Every worker reports what it does to a
// recorder. While it is alive it holds a lock for its round, so that the kernel detects overlapping rounds.
const (
	roleVariable     = "HOLDFAST_TEST_ROLE"
	slotVariable     = "HOLDFAST_TEST_SLOT"
	recorderVariable = "HOLDFAST_TEST_RECORDER"
	locksVariable    = "HOLDFAST_TEST_LOCKS"
)

// PlayRole is called from TestMain. If this process has a role, PlayRole plays it and does not return.
func PlayRole() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	time.AfterFunc(time.Minute, func() { os.Exit(98) }) // longer than any test
	begin()
	roles[role]()
	os.Exit(0)
}

var roles = map[string]func(){
	// USR1 makes it succeed, USR2 makes it fail.
	"trains": func() {
		c := notify(syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP)
		report("started")
		for s := range c {
			switch s {
			case syscall.SIGUSR1:
				os.Exit(0)
			case syscall.SIGUSR2:
				os.Exit(3)
			default:
				report("hangup")
			}
		}
	},
	"exits 0 on TERM": func() {
		c := notify(syscall.SIGTERM)
		report("started")
		<-c
		report("terminated")
		os.Exit(0)
	},
	"ignores TERM": func() {
		signal.Ignore(syscall.SIGTERM)
		report("started")
		select {}
	},
	"checkpoints": func() {
		file := os.Getenv("HOLDFAST_CHECKPOINT_FILE")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			report("cannot-save")
		}
		c := notify(syscall.SIGTERM)
		report("started")
		time.Sleep(300 * time.Millisecond) // writing the checkpoint
		select {
		case <-c:
			report("disturbed")
		default:
			report("saved")
		}
		os.Remove(file)
		<-c
		os.Exit(0)
	},
	"leaves a daemon": func() {
		c := notify(syscall.SIGUSR1)
		spawn("leaves an orphan", &syscall.SysProcAttr{Setsid: true})
		report("started")
		<-c
	},
	"leaves an orphan": func() { spawn("is a daemon", &syscall.SysProcAttr{Setsid: true}) },
	"is a daemon": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		report("daemon")
		select {}
	},
	// USR1 makes it hang: it stops making progress, and ignores TERM.
	"gets on": func() {
		c := notify(syscall.SIGUSR1)
		signal.Ignore(syscall.SIGTERM)
		getOn()
		report("started")
		for step := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-step.C:
				getOn()
			case <-c:
				report("stuck")
				select {}
			}
		}
	},
	"never saves": func() {
		_ = os.WriteFile(os.Getenv("HOLDFAST_CHECKPOINT_FILE"), nil, 0o600)
		report("started")
		select {}
	},
}

// getOn reports progress in the way that the environment specifies.
func getOn() {
	if file := os.Getenv("HOLDFAST_PROGRESS_FILE"); file != "" {
		_ = os.WriteFile(file, nil, 0o600)
	} else {
		fmt.Println("gets on")
	}
}

// spawn runs this binary in another role.
func spawn(role string, attr *syscall.SysProcAttr) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, roleVariable+"=") })
	_, err := syscall.ForkExec(os.Args[0], os.Args, &syscall.ProcAttr{
		Env: append(env, roleVariable+"="+role), Files: []uintptr{0, 1, 2}, Sys: attr,
	})
	if err != nil {
		report("cannot-spawn")
	}
}

func notify(signals ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 8)
	signal.Notify(c, signals...)
	return c
}

// begin detects whether a process of an earlier round is still alive, and takes the lock that marks this process as
// alive.
func begin() {
	mine, err := strconv.Atoi(os.Getenv("HOLDFAST_RESTART_ROUND"))
	if err != nil {
		report("without-round")
		return
	}
	for r := range mine {
		earlier, _ := filepath.Glob(filepath.Join(os.Getenv(locksVariable), fmt.Sprintf("%d.*", r)))
		for _, file := range earlier {
			if flock(file, syscall.LOCK_SH|syscall.LOCK_NB) != nil {
				report("overlap")
			}
		}
	}
	own := fmt.Sprintf("%d.%s.%d", mine, os.Getenv(slotVariable), os.Getpid())
	if flock(filepath.Join(os.Getenv(locksVariable), own), syscall.LOCK_EX) != nil {
		report("overtaken")
	}
}

// flock locks a file until this process exits.
func flock(file string, how int) error {
	fd, err := syscall.Open(file, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return syscall.Flock(fd, how)
}

func report(what string) {
	c, err := net.Dial("unixgram", os.Getenv(recorderVariable))
	if err != nil {
		os.Exit(99)
	}
	fmt.Fprintf(c, "%s %s %s %d %s", what, os.Getenv(slotVariable), os.Getenv("HOLDFAST_RESTART_ROUND"), os.Getpid(),
		os.Getenv("HOLDFAST_RENDEZVOUS_ID"))
	c.Close()
}
