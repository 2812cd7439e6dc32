package valkey

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// Both on a server and in the interpreter, a call with many joins returns one reply for each member, and the last join starts the
// round.
func TestJoinOfManyMembers(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustWrite(t, store, uid, aState(), aConfig(4))
	inProcess, err := memory.NewServer(memory.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer inProcess.Close()
	if written, err := inProcess.Set(uid, "", aState(), aConfig(4), nil, nil); err != nil || !written {
		t.Fatal(written, err)
	}
	key := rounds.KeysOf(uid).State()
	for name, call := range map[string]func(c rounds.Call) (any, error){
		"a server": func(c rounds.Call) (any, error) {
			return store.client.FCall(t.Context(), c.Function, []string{key}, c.Arguments...).Result()
		},
		"the interpreter": func(c rounds.Call) (any, error) {
			args := make([]string, len(c.Arguments))
			for i, a := range c.Arguments {
				args[i] = fmt.Sprint(a)
			}
			return inProcess.FCall(c.Function, []string{key}, args)
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect := func(want string, c rounds.Call) {
				t.Helper()
				reply, err := call(c)
				if got := fmt.Sprint(reply); err != nil || got != want {
					t.Errorf("replies %s, %v; want %s", got, err, want)
				}
			}
			if _, err := call(rounds.Release(token, "A", 0, slotOf(3), "js-w-0-3 pod", rounds.Slot{})); err != nil {
				t.Fatal(err)
			}
			other := memberOf(0)
			other.Pod = "another"
			join := func(members ...rounds.Member) rounds.Call { return rounds.Join("A", 0, 0, 0, members...) }
			expect("[J H J J X]", join(memberOf(0), other, memberOf(1), memberOf(0), memberOf(3)))
			third := memberOf(3)
			third.Pod = "new"
			expect("[J J]", join(memberOf(2), third))
			newer := memberOf(1)
			newer.ID, newer.Attempt = "newer", 2 // its predecessor has run in this round, so the round is over
			expect("[J R]", join(memberOf(0), newer))
			expect("-", rounds.Join("B", 0, 0, 0, memberOf(0), memberOf(1))) // one reply for all
		})
	}
	if o := store.Observe(t.Context(), uid, slotOf(0)); o.Err != nil || o.Level.Round != 1 || !o.Level.Restarting() {
		t.Errorf("on the server: %s, %v", o.Level, o.Err)
	}
	if l, err := inProcess.Level(uid); err != nil || l.Round != 1 || !l.Restarting() {
		t.Errorf("in the interpreter: %s, %v", l, err)
	}
}
