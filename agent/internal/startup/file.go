// Package startup keeps two files on the start-up volume, which lives as long as the pod: the agent's memory across its
// own restarts, and the round for the worker to read.
package startup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// Version is the version of the start-up file.
	Version = 2
	// FileName is the file with the agent's memory.
	FileName = "agent.json"
)

// file is the start-up file. Its absence means a new pod.
type file struct {
	Version int    `json:"version"`
	PodUID  string `json:"podUID"`
	worker.Memory
}

// Encode returns the memory of a pod's agent as JSON.
func Encode(podUID string, m worker.Memory) []byte {
	out, err := json.Marshal(file{Version: Version, PodUID: podUID, Memory: m})
	if err != nil {
		panic(err) // the struct has only numbers, booleans and strings
	}
	return append(out, '\n')
}

// Decode parses what Encode returned for the same pod. The error says why the content cannot be used.
func Decode(podUID string, data []byte) (worker.Memory, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return worker.Fresh(), fmt.Errorf("not a start-up file: %w", err)
	}
	if err := f.check(podUID); err != nil {
		return worker.Fresh(), err
	}
	return f.Memory, nil
}

func (f file) check(podUID string) error {
	m := f.Memory
	switch {
	case f.Version != Version:
		return fmt.Errorf("start-up file of version %d, not %d", f.Version, Version)
	case f.PodUID != podUID:
		return fmt.Errorf("start-up file of another pod, UID %.80q", f.PodUID)
	case m.Instance.Round < worker.NoRound || (m.Instance.Round >= 0 && m.Instance.ID == ""):
		return fmt.Errorf("start-up file with round %d and instance %.80q", m.Instance.Round, m.Instance.ID)
	}
	for _, n := range []int64{m.Generation, m.Highest, int64(m.Entered), m.Attempt, m.DiedIn + 1, m.Instance.Born, m.Instance.Attempt, m.Instance.Round + 1} {
		if n < 0 || n > rounds.MaxCount {
			return fmt.Errorf("start-up file: %d is not a count", n)
		}
	}
	return nil
}

// Load reads the start-up file in dir. If the file is missing, the pod is new and there is no error. With an error Load
// also returns the memory of a new pod.
func Load(dir, podUID string) (worker.Memory, error) {
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return worker.Fresh(), nil
	}
	if err != nil {
		return worker.Fresh(), fmt.Errorf("reading the start-up file: %w", err)
	}
	return Decode(podUID, data)
}

// Save writes the start-up file.
func Save(dir, podUID string, m worker.Memory) error {
	return write(dir, FileName, Encode(podUID, m))
}
