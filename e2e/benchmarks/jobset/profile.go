package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// profileSeconds is how long a phase is profiled, counted from its start.
const profileSeconds = 10

// profile takes a CPU profile of our manager while a phase runs. wait returns once the profile is complete.
func (b *benchmark) profile(m *manager, s shape, p phase) (wait func()) {
	if b.options.profiles == "" || m.name != ours {
		return func() {}
	}
	done := make(chan error, 1)
	file := filepath.Join(b.options.profiles, fmt.Sprintf("%dx%d-%s.pprof", s.JobSets, s.Jobs, p.name))
	go func() {
		done <- download(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", profiling, profileSeconds), file)
	}()
	return func() {
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, "no profile:", err)
		}
	}
}

func download(url, file string) error {
	response, err := http.Get(url) //nolint:gosec // our own manager
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
