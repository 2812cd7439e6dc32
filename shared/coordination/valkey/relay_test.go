package valkey

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func TestJoinAll(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustWrite(t, store, uid, aState(), aConfig(3))
	other := memberOf(0)
	other.Pod = "another"
	tests := []struct {
		name    string
		members []rounds.Member
		want    []string
		runs    bool
	}{
		{"one", []rounds.Member{memberOf(0)}, []string{"J"}, false},
		{"two members, one of them in the slot of another pod", []rounds.Member{other, memberOf(1)}, []string{"H", "J"}, false},
		{"the last join", []rounds.Member{memberOf(1), memberOf(2)}, []string{"J", "J"}, true},
	}
	for _, tc := range tests {
		got, now, err := store.JoinAll(t.Context(), uid, rounds.Join("A", 0, 0, 0, tc.members...), len(tc.members))
		if err != nil || !slices.Equal(got, tc.want) || now.Running() != tc.runs {
			t.Errorf("%s: %v, %s, %v; want %v", tc.name, got, now, err, tc.want)
		}
	}
	got, _, err := store.JoinAll(t.Context(), uid, rounds.Join("B", 0, 0, 0, memberOf(0), memberOf(1)), 2)
	if err != nil || !slices.Equal(got, []string{"-", "-"}) {
		t.Errorf("in another incarnation: %v, %v", got, err)
	}
	_, _, err = store.JoinAll(t.Context(), "unknown", rounds.Join("A", 0, 0, 0, memberOf(0), memberOf(1)), 2)
	if !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("without a group: %v", err)
	}
}

// With the permissions of its group, a member can read and write the relay records of that group, but not those of other groups.
func TestRecordsOfRelays(t *testing.T) {
	server := newGuardedServer(t)
	leader := server.as(t, "leader", leaderPassword, patient)
	mustOpen(t, leader, uid, "uid-2")
	const secret = "of one group"
	check(t, "a user", leader.SetUsers(t.Context(), map[string][]string{uid: {sha(secret)}}))
	member := server.as(t, coordination.UserOf(uid), secret)
	slot := slotOf(0).Name
	if text, err := member.Announced(t.Context(), uid, slot); err != nil || text != "" {
		t.Errorf("without a relay: %q, %v", text, err)
	}
	check(t, "announcing", member.Announce(t.Context(), uid, slot, "here", time.Minute))
	if text, err := member.Announced(t.Context(), uid, slot); err != nil || text != "here" {
		t.Errorf("the announced text is %q, %v", text, err)
	}
	if err := member.Announce(t.Context(), "uid-2", slot, "here", time.Minute); err == nil {
		t.Error("a member can announce a relay of another group")
	}
	if text, err := member.Announced(t.Context(), "uid-2", slot); err == nil {
		t.Errorf("a member can read %q of another group", text)
	}
	long := strings.Repeat("x", 2*rounds.MaxText)
	check(t, "a long text", member.Announce(t.Context(), uid, slot, long, time.Minute))
	if text, err := member.Announced(t.Context(), uid, slot); err != nil || len(text) != rounds.MaxText+1 {
		t.Errorf("%d bytes of a long text are read, %v", len(text), err)
	}
	if _, err := leader.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text, err := member.Announced(t.Context(), uid, slot); err != nil || text == "" {
		t.Errorf("after tidying: %q, %v", text, err)
	}
	check(t, "dropping", leader.Drop(t.Context(), uid))
	if n, err := server.admin.Exists(t.Context(), rounds.KeysOf(uid).Relay(slot)).Result(); err != nil || n != 0 {
		t.Errorf("after dropping the group: %d, %v", n, err)
	}
}

func TestObserveAll(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	all := store.ObserveAll(t.Context(), uid, []rounds.Slot{slotOf(0), slotOf(7), slotOf(1)})
	if got := fmt.Sprint(all[0].Err, errors.Is(all[1].Err, coordination.ErrUnknownSlot), all[2].Err, all[2].Place.Pods); got != "<nil> true <nil> 2" {
		t.Errorf("%s: %+v", got, all)
	}
}
