// Package startup keeps two files on the start-up volume, which lives as long as the pod: what the agent remembers over
// its own restarts, and the round that the worker may read.
package startup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/member"
)

const (
	// Version of the start-up file.
	Version = 1
	// FileName of what the agent remembers.
	FileName = "agent.json"
)

// file is the start-up file. Its absence means a new pod.
type file struct {
	Version     int    `json:"version"`
	PodUID      string `json:"podUID"`
	PodBorn     int64  `json:"podBorn"`
	Incarnation string `json:"incarnation,omitempty"`
	Epoch       int64  `json:"epoch"`
	Round       int64  `json:"round"`
	Running     bool   `json:"running"`
	Entered     bool   `json:"entered,omitempty"`
	Instances   int64  `json:"instances"`
	InstanceID  string `json:"instanceID,omitempty"`
	Born        int64  `json:"instanceBorn,omitempty"`
	Ordered     string `json:"ordered,omitempty"`
	Finished    string `json:"finished,omitempty"`
}

// Encode writes the memory of a pod's agent as JSON.
func Encode(podUID string, m member.Memory) []byte {
	out, err := json.Marshal(file{
		Version: Version, PodUID: podUID, PodBorn: m.PodBorn, Incarnation: m.Incarnation, Epoch: m.Epoch, Round: m.Round,
		Running: m.Running, Instances: m.Instances, InstanceID: m.Instance.ID, Born: m.Instance.Born, Ordered: m.Ordered,
		Entered: m.Entered, Finished: m.Finished,
	})
	if err != nil {
		panic(err) // numbers, booleans and strings only
	}
	return append(out, '\n')
}

// Decode reads what Encode wrote for the same pod. The error says why the content is of no use.
func Decode(podUID string, data []byte) (member.Memory, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return member.Fresh(), fmt.Errorf("not a start-up file: %w", err)
	}
	if err := f.check(podUID); err != nil {
		return member.Fresh(), err
	}
	return member.Memory{
		PodBorn: f.PodBorn, Incarnation: f.Incarnation, Epoch: f.Epoch, Round: f.Round, Running: f.Running, Instances: f.Instances,
		Instance: coordination.Instance{ID: f.InstanceID, Born: f.Born}, Ordered: f.Ordered, Entered: f.Entered, Finished: f.Finished,
	}, nil
}

func (f file) check(podUID string) error {
	switch {
	case f.Version != Version:
		return fmt.Errorf("start-up file of version %d, not %d", f.Version, Version)
	case f.PodUID != podUID:
		return fmt.Errorf("start-up file of another pod, UID %.80q", f.PodUID)
	case f.Round < coordination.NoRound || (f.Round >= 0) != (f.InstanceID != ""):
		return fmt.Errorf("start-up file with round %d and instance %.80q", f.Round, f.InstanceID)
	}
	for _, n := range []int64{f.PodBorn, f.Epoch, f.Round + 1, f.Instances, f.Born} {
		if n < 0 || n > coordination.MaxCount {
			return fmt.Errorf("start-up file: %d is not a count", n)
		}
	}
	return nil
}

// Load reads the start-up file in dir. A missing file is a new pod and no error; with an error the memory is that of a
// new pod as well.
func Load(dir, podUID string) (member.Memory, error) {
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return member.Fresh(), nil
	}
	if err != nil {
		return member.Fresh(), fmt.Errorf("reading the start-up file: %w", err)
	}
	return Decode(podUID, data)
}

// Save writes the start-up file.
func Save(dir, podUID string, m member.Memory) error {
	return write(dir, FileName, Encode(podUID, m))
}
