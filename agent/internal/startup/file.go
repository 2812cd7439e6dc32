// Package startup maintains two files on the startup volume, which exists as long as the pod. One holds the agent's
// state, which survives restarts of the agent. The other holds the round, which the worker can read.
package startup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

const (
	// Version is the version of the startup file.
	Version = 2
	// FileName is the name of the file with the agent's state.
	FileName = "agent.json"
)

// file is the content of the startup file. If the file does not exist, the pod is new.
type file struct {
	Version int    `json:"version"`
	PodUID  string `json:"podUID"`
	worker.Memory
}

// Encode returns the state of a pod's agent as JSON.
func Encode(podUID string, m worker.Memory) []byte {
	out, err := json.Marshal(file{Version: Version, PodUID: podUID, Memory: m})
	if err != nil {
		panic(err) // the struct contains only numbers, booleans and strings
	}
	return append(out, '\n')
}

// Decode parses the output of Encode for the same pod. The error says why the content cannot be used.
func Decode(podUID string, data []byte) (worker.Memory, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return worker.Fresh(), fmt.Errorf("not a startup file: %w", err)
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
		return fmt.Errorf("startup file has version %d, want %d", f.Version, Version)
	case f.PodUID != podUID:
		return fmt.Errorf("startup file belongs to another pod, UID %.80q", f.PodUID)
	case m.Instance.Round < worker.NoRound || (m.Instance.Round >= 0 && m.Instance.ID == ""):
		return fmt.Errorf("startup file has an invalid combination of round %d and instance %.80q", m.Instance.Round, m.Instance.ID)
	}
	for _, n := range []int64{m.Generation, m.Highest, int64(m.Entered), m.Attempt, m.DiedIn + 1, m.Instance.Born, m.Instance.Attempt, m.Instance.Round + 1} {
		if n < 0 || n > rounds.MaxCount {
			return fmt.Errorf("startup file: %d is not a count", n)
		}
	}
	return nil
}

// Load reads the startup file in dir. If the file does not exist, the pod is new, which is not an error. If Load
// returns an error, it also returns the state for a new pod.
func Load(dir, podUID string) (worker.Memory, error) {
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return worker.Fresh(), nil
	}
	if err != nil {
		return worker.Fresh(), fmt.Errorf("reading the startup file: %w", err)
	}
	return Decode(podUID, data)
}

// EnvName is the file from which a worker can read its round. It can be read by a shell and by an env file parser.
const EnvName = "round.env"

// Env returns the content of the file EnvName. Each round of a JobSet has its own rendezvous ID, so that processes of
// different rounds never join the same rendezvous.
func Env(jobSetUID string, epoch, round int64) []byte {
	return fmt.Appendf(nil, "HOLDFAST_RESTART_EPOCH=%d\nHOLDFAST_RESTART_ROUND=%d\nHOLDFAST_RENDEZVOUS_ID=%s-%d-%d\n",
		epoch, round, jobSetUID, epoch, round)
}

// Replace writes a file atomically: a reader, or an agent that starts after a crash, sees either the old or the new
// content. It does not call fsync, because the volume does not survive a node reboot.
func Replace(dir, name string, mode fs.FileMode, content io.Reader) error {
	temp, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer os.Remove(temp.Name())
	_, err = io.Copy(temp, content)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
