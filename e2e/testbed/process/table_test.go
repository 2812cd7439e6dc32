package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestAStartedProgramIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	table := Table{Dir: dir}
	spec := Spec{Name: "sleep", Command: []string{"/bin/sh", "-c", "echo begun; exec sleep 60"}, Dir: dir, Log: filepath.Join(dir, "log")}
	started, err := table.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer started.ID.Kill(t.Context())

	found := Table{Dir: dir}.Get("sleep")
	if found != started || !found.ID.Alive() {
		t.Errorf("found %+v, started %+v", found, started)
	}
	if found.Fingerprint != spec.Fingerprint() {
		t.Errorf("fingerprint %s, want %s", found.Fingerprint, spec.Fingerprint())
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		log, _ := os.ReadFile(spec.Log)
		if string(log) == "begun\n" {
			break
		}
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("the log has %q", log)
		}
	}
}

// A process that starts the testbed under flock holds a lock through an open file. The lock must be released when that
// process ends, not when the testbed does.
func TestAStartedProgramInheritsNoOpenFiles(t *testing.T) {
	dir := t.TempDir()
	held := filepath.Join(dir, "held")
	descriptor, err := syscall.Open(held, syscall.O_CREAT|syscall.O_RDWR, 0o600) // without O_CLOEXEC, like an inherited file
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(descriptor)
	started, err := Table{Dir: dir}.Start(Spec{Name: "sleep", Command: []string{"/bin/sleep", "60"}, Dir: dir, Log: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer started.ID.Kill(t.Context())
	folder := fmt.Sprintf("/proc/%d/fd", started.ID.PID)
	open, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range open {
		if file, _ := os.Readlink(filepath.Join(folder, entry.Name())); file == held {
			t.Errorf("the program has %s open", file)
		}
	}
}

func TestAProgramIsRecordedBeforeItStarts(t *testing.T) {
	dir := t.TempDir()
	table := Table{Dir: dir}
	if _, err := table.Start(Spec{Name: "absent", Command: []string{filepath.Join(dir, "absent")}, Dir: dir, Log: filepath.Join(dir, "log")}); err == nil {
		t.Fatal("a program that does not exist was started")
	}
	if records := table.All(); len(records) != 1 || records[0].Name != "absent" || records[0].ID.Alive() {
		t.Errorf("records %+v", records)
	}
}

func TestDamagedRecordsAreNotAlive(t *testing.T) {
	for name, content := range map[string]string{
		"empty":   "",
		"cut off": `{"name":"etcd","fingerprint":"x","id":{"pid":1`,
		"intent":  `{"name":"etcd","fingerprint":"x","id":{"pid":0,"start":0}}`,
		"garbage": "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "etcd.json"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			records := Table{Dir: dir}.All()
			if len(records) != 1 || records[0].Name != "etcd" || records[0].ID.Alive() {
				t.Errorf("records %+v", records)
			}
		})
	}
}

func TestFingerprint(t *testing.T) {
	base := Spec{Name: "kubelet", Command: []string{"kubelet", "--config=x"}, Inputs: []string{"a"}}
	same, input, argument := base, base, base
	input.Inputs = []string{"b"}
	argument.Command = []string{"kubelet", "--config=y"}
	if base.Fingerprint() != same.Fingerprint() {
		t.Error("equal specs differ")
	}
	if base.Fingerprint() == input.Fingerprint() {
		t.Error("a changed configuration goes unnoticed")
	}
	if base.Fingerprint() == argument.Fingerprint() {
		t.Error("a changed argument goes unnoticed")
	}
}
