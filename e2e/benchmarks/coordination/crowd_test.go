package main

import (
	"strings"
	"testing"
	"time"
)

// The test's own program does not know -child, so it exits at once, like a child that crashes.
func TestErrorSaysWhyAChildHasEnded(t *testing.T) {
	c, err := startChild(t.Context(), part{})
	if err != nil {
		t.Fatal(err)
	}
	c.size = 10
	_, err = c.do(command{Do: "await"})
	for _, want := range []string{"members 0 to 9: await: their process ended (exit status 2)", "flag provided but not defined: -child"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestResultReplacesTheEarlierOneOfItsKind(t *testing.T) {
	dir := t.TempDir()
	for _, r := range []crowdResult{{Members: 5000, Commit: "a"}, {Members: 5000, Relays: true}, {Members: 1000}} {
		if _, err := keepCrowd(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := keepCrowd(dir, crowdResult{Members: 5000, Commit: "b"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[0].Members != 1000 || all[1].Commit != "b" || !all[2].Relays {
		t.Errorf("got %+v", all)
	}
}

func TestModel(t *testing.T) {
	r := crowdResult{Members: 1000, CPU: parts{Store: 0.08, Members: 0.1, Leader: 0.02}}
	if got, want := sharedCores(r, 2), 100*time.Millisecond; got.Round(time.Microsecond) != want {
		t.Errorf("on two cores: %v, want %v", got, want)
	}
	if got, want := ownCores(r), 80100*time.Microsecond; got.Round(time.Microsecond) != want {
		t.Errorf("with a core for each node: %v, want %v", got, want)
	}
	r.Relays = true // a relay serves a hundred members
	if got, want := ownCores(r), 90*time.Millisecond; got.Round(time.Microsecond) != want {
		t.Errorf("with relays and a core for each node: %v, want %v", got, want)
	}
}
