package contract

import (
	"errors"
	"slices"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// testGroups opens several groups side by side: they are listed, and none touches another.
func testGroups(t *testing.T, newStore func(t *testing.T) Harness) {
	ctx := t.Context()
	s := newStore(t).Store
	open := defaults("open").Open
	open.Stages = stage("js-w", 1, 1)
	for _, uid := range []string{"uid-b", "uid-a"} {
		if _, err := s.Open(ctx, uid, open); err != nil {
			t.Fatal(err)
		}
	}
	m, i := speaker("0a")
	if _, err := s.Join(ctx, "uid-a", coordination.Join{Member: m, Instance: i, Seen: coordination.Unseen()}); err != nil {
		t.Fatal(err)
	}
	expectPhase(t, s, "uid-a", coordination.Running)
	expectPhase(t, s, "uid-b", coordination.Forming)
	expectGroups(t, s, "uid-a", "uid-b")
	if err := s.Drop(ctx, "uid-a", open.Token); err != nil {
		t.Fatal(err)
	}
	expectGroups(t, s, "uid-b")
	expectPhase(t, s, "uid-b", coordination.Forming)
	if _, err := s.History(ctx, "uid-a"); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("history of a dropped group: %v, want %v", err, coordination.ErrNoGroup)
	}
}

func expectPhase(t *testing.T, s coordination.Store, uid string, want coordination.Phase) {
	t.Helper()
	if got, err := s.Summary(t.Context(), uid); err != nil || got.Phase != want {
		t.Errorf("group %s is %s, error %v; want %s", uid, got.Phase, err, want)
	}
}

func expectGroups(t *testing.T, s coordination.Store, want ...string) {
	t.Helper()
	if got, err := s.Groups(t.Context()); err != nil || !slices.Equal(got, want) {
		t.Errorf("groups %v, error %v; want %v", got, err, want)
	}
}
