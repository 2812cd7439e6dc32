package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
)

// profileSeconds is how long a recovery is profiled, counted from the failure.
const profileSeconds = 10

// profile takes CPU profiles of our programs, and of this one with all agents, during a recovery. end returns once the
// profiles are complete.
func (b *benchmark) profile(name string) (end func()) {
	if b.profiles == "" {
		return func() {}
	}
	var all sync.WaitGroup
	for program, address := range map[string]string{manager: managerProfile, orchestrator: orchestratorProfile} {
		all.Go(func() {
			url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", address, profileSeconds)
			if err := download(url, filepath.Join(b.profiles, name+"-"+program+".pprof")); err != nil {
				fmt.Fprintln(os.Stderr, "no profile:", err)
			}
		})
	}
	file, err := os.Create(filepath.Join(b.profiles, name+"-agents.pprof"))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no profile:", err)
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
		all.Wait()
	}
}

func download(url, file string) error {
	response, err := http.Get(url) //nolint:gosec // our own program
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", response.Status)
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = io.Copy(to, response.Body)
	return err
}
