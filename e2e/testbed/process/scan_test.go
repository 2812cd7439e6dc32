package process

import (
	"slices"
	"testing"
)

func TestScanFindsAProcessByItsCommand(t *testing.T) {
	id := sleeper(t)
	found := Scan(func(f Found) bool { return slices.Contains(f.Args, "60") && f.ID == id })
	if len(found) != 1 || found[0].ID != id {
		t.Errorf("found %v, want process %d", found, id.PID)
	}
}

func TestUses(t *testing.T) {
	const folder = "/cache/holdfast/testbed"
	tests := map[string]struct {
		found Found
		uses  bool
	}{
		"the program lies there":      {Found{Exe: folder + "/etcd"}, true},
		"works there":                 {Found{Exe: "/usr/bin/etcd", Dir: folder}, true},
		"an argument lies there":      {Found{Args: []string{"etcd", "--data-dir=" + folder + "/etcd"}}, true},
		"a sibling with a like name":  {Found{Dir: folder + "-old", Args: []string{folder + "2/x"}}, false},
		"the folder above":            {Found{Dir: "/cache/holdfast"}, false},
		"something else altogether":   {Found{Exe: "/bin/sh", Dir: "/"}, false},
		"a process without a command": {Found{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.found.Uses(folder); got != test.uses {
				t.Errorf("got %v, want %v", got, test.uses)
			}
		})
	}
}
