// Command worker stands in for a training process in examples and end-to-end tests. It prints when it started, and then
// each step. SIGUSR1 makes it fail (exit 1), SIGUSR2 makes it succeed (exit 0). WORKER_ON_TERM determines what SIGTERM
// does: "exit" (default, exit 143), "finish" (exit 0, like a program that saves a checkpoint) or "ignore". SIGHUP makes
// it hang as in a collective: it takes no more steps and ignores SIGTERM. SIGPWR makes it allocate memory until it is
// killed. Each step reports progress as configured in the environment. WORKER_STEPS makes it succeed after that many
// steps of WORKER_STEP_SECONDS (default 1). WORKER_MEMORY_MIB is the memory that it allocates when it starts.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

func main() {
	signals := make(chan os.Signal, 8)
	// SIGTTIN is never sent. Tests check whether it is handled, because the Go runtime does not handle it until a program requests it.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGHUP, syscall.SIGPWR, syscall.SIGTTIN)
	host, _ := os.Hostname() // the name is only for the log; it may be empty
	fmt.Printf("started unix_ms=%d worker=%s\n", time.Now().UnixMilli(), host)
	held := take(number("WORKER_MEMORY_MIB", 0))
	defer runtime.KeepAlive(held)
	last := number("WORKER_STEPS", 0)
	steps := time.NewTicker(time.Duration(number("WORKER_STEP_SECONDS", 1)) * time.Second)
	for step := 1; ; {
		select {
		case <-steps.C:
			fmt.Printf("step %d\n", step)
			getOn()
			if step == last {
				return
			}
			step++
		case s := <-signals:
			switch s {
			case syscall.SIGHUP:
				hang()
			case syscall.SIGPWR:
				takeMemory()
			}
			if code, leave := exitCode(s); leave {
				fmt.Printf("leaving on %s with exit code %d\n", s, code)
				os.Exit(code)
			}
		}
	}
}

// take allocates memory and writes to each page, because only memory that has been written to counts.
func take(mib int) []byte {
	all := make([]byte, mib<<20)
	for i := 0; i < len(all); i += os.Getpagesize() {
		all[i] = 1
	}
	return all
}

// getOn reports progress, if that is configured in the environment.
func getOn() {
	if file := os.Getenv("HOLDFAST_PROGRESS_FILE"); file != "" {
		complain(os.WriteFile(file, nil, 0o600))
	}
}

func complain(err error) {
	if err != nil {
		fmt.Println("reporting progress failed:", err)
	}
}

func hang() {
	fmt.Println("hangs")
	select {}
}

// takeMemory allocates memory and writes to it, so that it counts.
func takeMemory() {
	fmt.Println("takes memory")
	const some = 4 << 20
	for kept := [][]byte{}; ; {
		taken := make([]byte, some)
		for i := 0; i < some; i += os.Getpagesize() {
			taken[i] = 1
		}
		kept = append(kept, taken)
	}
}

func exitCode(s os.Signal) (code int, leave bool) {
	switch {
	case s == syscall.SIGUSR1:
		return 1, true
	case s == syscall.SIGUSR2:
		return 0, true
	case os.Getenv("WORKER_ON_TERM") == "ignore":
		return 0, false
	case os.Getenv("WORKER_ON_TERM") == "finish":
		return 0, true
	default:
		return 128 + int(syscall.SIGTERM), true
	}
}

func number(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil || n < 1 {
		return otherwise
	}
	return n
}
