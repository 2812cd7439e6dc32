package testbed

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

func TestTheStatusLeavesOutAStoppedProgram(t *testing.T) {
	cluster := &Cluster{layout: Layout{cache: t.TempDir()}}
	if err := cluster.layout.create(); err != nil {
		t.Fatal(err)
	}
	stops := map[string]func() error{
		"controller": func() error { return cluster.StopProgram(t.Context(), "controller") },
		redis:        func() error { return cluster.Redis().Stop(t.Context()) },
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			spec := process.Spec{Name: name, Command: []string{"/bin/sleep", "60"}, Log: filepath.Join(t.TempDir(), "log")}
			for range 2 { // it can be started again
				record, err := cluster.table().Start(spec)
				if err != nil {
					t.Fatal(err)
				}
				if err := stop(); err != nil {
					t.Fatal(err)
				}
				if record.ID.Alive() {
					t.Error("it is still running")
				}
				if left := cluster.table().All(); len(left) > 0 {
					t.Errorf("records are left: %v", left)
				}
			}
			if err := stop(); err != nil {
				t.Errorf("stopping what is stopped: %v", err)
			}
		})
	}
}

func TestTheStatusShowsAKilledProgram(t *testing.T) {
	cluster := &Cluster{layout: Layout{cache: t.TempDir()}}
	if err := cluster.layout.create(); err != nil {
		t.Fatal(err)
	}
	spec := process.Spec{Name: "controller", Command: []string{"/bin/sleep", "60"}, Log: filepath.Join(t.TempDir(), "log")}
	if _, err := cluster.table().Start(spec); err != nil {
		t.Fatal(err)
	}
	if err := cluster.KillProgram(t.Context(), spec.Name); err != nil {
		t.Fatal(err)
	}
	if left := cluster.table().All(); len(left) != 1 || left[0].ID.Alive() {
		t.Errorf("records %v, want the one of the dead program", left)
	}
}
