package process

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Record is what is stored about a program, even before it is started.
type Record struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	// ID is zero until the program has started.
	ID ID `json:"id"`
}

// Table stores one file per program in a directory, so that an interrupted write damages at most one record.
type Table struct {
	Dir string
}

// Start runs the program and records it. It writes the record both before and after starting the program. In between,
// the program can be found by its cgroup.
func (t Table) Start(spec Spec) (Record, error) {
	record := Record{Name: spec.Name, Fingerprint: spec.Fingerprint()}
	if err := t.put(record); err != nil {
		return Record{}, err
	}
	id, err := spec.start()
	if err != nil {
		return Record{}, err
	}
	record.ID = id
	return record, t.put(record)
}

// Get returns the record of a program. If the record is missing or damaged, it returns the zero record, which is not
// alive.
func (t Table) Get(name string) Record {
	var record Record
	raw, err := os.ReadFile(t.path(name))
	if err != nil || json.Unmarshal(raw, &record) != nil {
		return Record{Name: name}
	}
	return record
}

// All returns the records of all programs, including those whose start was not completed.
func (t Table) All() []Record {
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return nil
	}
	var records []Record
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".json"); ok {
			records = append(records, t.Get(name))
		}
	}
	return records
}

// Forget removes the record of a program that was stopped on purpose.
func (t Table) Forget(name string) error {
	if err := os.Remove(t.path(name)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the record of %s: %w", name, err)
	}
	return nil
}

func (t Table) put(record Record) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	temporary := t.path(record.Name) + ".new"
	if err := os.WriteFile(temporary, raw, 0o644); err != nil {
		return fmt.Errorf("recording %s: %w", record.Name, err)
	}
	if err := os.Rename(temporary, t.path(record.Name)); err != nil {
		return fmt.Errorf("recording %s: %w", record.Name, err)
	}
	return nil
}

func (t Table) path(name string) string {
	return filepath.Join(t.Dir, name+".json")
}
