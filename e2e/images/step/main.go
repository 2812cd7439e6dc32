// Command step runs in the containers of the JobSet examples. It does one small thing, so that a test can see in which
// order containers ran and what they shared. All variables are optional. It processes them in this order:
//
//	STEP_NEEDS     fail unless these files exist (separated by commas)
//	STEP_RESOLVE   wait until these host names resolve (separated by commas)
//	STEP_FAIL_ONCE create this file and fail; do nothing if it exists
//	STEP_WRITES    create this file
//	STEP_AWAITS    keep running until this file exists
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const poll = 200 * time.Millisecond

func main() {
	host, _ := os.Hostname()
	fmt.Println("step on", host, "begins at", time.Now().UTC().Format(time.RFC3339Nano))
	for _, do := range []func() error{needs, resolve, failOnce, writes, awaits} {
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, "step:", err)
			os.Exit(1)
		}
	}
	fmt.Println("step on", host, "ends at", time.Now().UTC().Format(time.RFC3339Nano))
}

func list(variable string) []string {
	return strings.FieldsFunc(os.Getenv(variable), func(r rune) bool { return r == ',' })
}

func needs() error {
	for _, file := range list("STEP_NEEDS") {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("an earlier step has not completed: %w", err)
		}
	}
	return nil
}

func resolve() error {
	for _, name := range list("STEP_RESOLVE") {
		for {
			addresses, err := net.DefaultResolver.LookupHost(context.Background(), name)
			if err == nil {
				fmt.Println(name, "is", strings.Join(addresses, " "))
				break
			}
			time.Sleep(poll)
		}
	}
	return nil
}

func failOnce() error {
	file := os.Getenv("STEP_FAIL_ONCE")
	if file == "" {
		return nil
	}
	mark, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("marking the failure: %w", err)
	}
	return errors.Join(fmt.Errorf("failing once, as requested by STEP_FAIL_ONCE=%s", file), mark.Close())
}

func writes() error {
	if file := os.Getenv("STEP_WRITES"); file != "" {
		return create(file)
	}
	return nil
}

func create(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("creating the parent folder: %w", err)
	}
	if err := os.WriteFile(file, []byte(time.Now().UTC().Format(time.RFC3339Nano)), 0o644); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	return nil
}

func awaits() error {
	for file := os.Getenv("STEP_AWAITS"); file != ""; time.Sleep(poll) {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	return nil
}
