package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// TestForeignValues puts what the protocol never wrote into each place. Every call that meets it says so and changes
// nothing; a reset by the leader mends it.
func TestForeignValues(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	s, w, x, h := functions.StateKey(uid), functions.SlotsKey(uid), functions.FencedKey(uid), functions.HistoryKey(uid)
	field := func(name, value string) [][]any { return [][]any{{"HSET", s, name, value}} }
	all := allCalls(store)
	onSlot := pick(all, "join", "down", "ask", "next epoch", "resize")
	onOther := pick(all, "next epoch", "resize")
	onFences := pick(all, "join", "down", "ask", "next epoch")
	lastJoin := pick(all, "last join")
	leaders := pick(all, "recreate", "summary", "open", "next epoch", "resize")
	onRecord := pick(all, "recreate", "summary", "open", "resize", "last join")
	slot := func(value string) [][]any { return [][]any{{"HSET", w, "js-w-0-0", value}} }
	cases := map[string]struct {
		damage [][]any
		calls  map[string]func() error
		key    string
	}{
		"the state is a string":             {[][]any{{"DEL", s}, {"SET", s, "x"}}, all, s},
		"the state is a list":               {[][]any{{"DEL", s}, {"RPUSH", s, "x"}}, all, s},
		"the slots are a set":               {[][]any{{"DEL", w}, {"SADD", w, "x"}}, onSlot, w},
		"the fences are a string":           {[][]any{{"DEL", x}, {"SET", x, "x"}}, onFences, x},
		"the history is a hash":             {[][]any{{"DEL", h}, {"HSET", h, "x", "y"}}, lastJoin, h},
		"a field is missing":                {[][]any{{"HDEL", s, "counts"}}, all, s},
		"the incarnation is gone":           {field("inc", ""), all, s},
		"the incarnation has a blank":       {field("inc", "a b"), all, s},
		"a word for a generation":           {field("gen", "one"), all, s},
		"a negative epoch":                  {field("epoch", "-1"), all, s},
		"an empty round":                    {field("round", ""), all, s},
		"a round with an exponent":          {field("round", "1e3"), all, s},
		"a hexadecimal round":               {field("round", "0x10"), all, s},
		"a fraction for a limit":            {field("limit", "1.5"), all, s},
		"a count beyond all counts":         {field("limit", "9007199254740993"), all, s},
		"a seq of many digits":              {field("seq", "99999999999999999999999999999999999999"), all, s},
		"a count behind zeros":              {field("limit", strings.Repeat("0", 1<<20)+"2"), all, s},
		"a count with a blank":              {field("limit", " 1"), all, s},
		"not a number":                      {field("limit", "nan"), all, s},
		"infinitely many":                   {field("downs", "inf"), all, s},
		"an unknown phase":                  {field("phase", "Sleeping"), all, s},
		"a phase in small letters":          {field("phase", "running"), all, s},
		"a tally that is none":              {field("ups", "few"), all, s},
		"half a token":                      {field("token", "1"), leaders, s},
		"a token of words":                  {field("token", "a b"), leaders, s},
		"no stages":                         {field("stages", ""), all, s},
		"half a stage":                      {field("stages", "js-w 1"), all, s},
		"a stage without a name":            {field("stages", " 1 2 0 held"), all, s},
		"a stage of an unknown release":     {field("stages", "js-w 1 2 0 kept"), all, s},
		"a stage of a step that is not":     {field("stages", "js-w 1 2 1 held"), all, s},
		"two stages and one count":          {field("stages", "js-w 1 2 0 held\njs-x 1 1 0 held"), all, s},
		"stages without an end":             {append(field("stages", "js-w 1 2 0 held"+strings.Repeat("\na 0 0 0 free", 1024)), field("counts", "0 0 0 0"+strings.Repeat("\n0 0 0 1", 1024))...), all, s},
		"a count that is none":              {field("counts", "1 0 0 maybe"), all, s},
		"no steps":                          {field("steps", ""), all, s},
		"a step that is none":               {field("steps", "-1 0 0"), all, s},
		"a step that entered nowhere":       {field("steps", "x 0 0 0   0   0  0 0"), all, s},
		"a dirty cause that is none":        {field("dirty", "yes"), all, s},
		"a recovery that is none":           {[][]any{{"HSET", s, "phase", "Recovering", "recovery", "0 0 0 2   0   0  0 0"}}, lastJoin, s},
		"a record that is too short":        {field("record", "1 1"), onRecord, s},
		"a record that is too long":         {field("record", "1 0   0   0  0 0 1 0 0"), onRecord, s},
		"a record with a word for a time":   {field("record", "1 0   0   0  0 0 now 0"), onRecord, s},
		"an empty slot record":              {slot(""), onSlot, w},
		"a slot record of one word":         {slot("x"), onSlot, w},
		"a slot record with a bad flag":     {slot("pod-0 1 p n i-0 1 0 0 0 true 0 0"), onSlot, w},
		"a slot record with a bad round":    {slot("pod-0 1 p n i-0 1 0 none 0 0 0 0"), onSlot, w},
		"a slot record with a bad birth":    {slot("pod-0 -1 p n i-0 1 0 0 0 0 0 0"), onSlot, w},
		"a slot record with another ending": {slot("pod-0 1 p n i-0 1 0 0 0 0 0 0 0"), onSlot, w},
		"a slot record with a line break":   {slot("pod\n0 1 p n i-0 1 0 0 0 0 0 0"), onSlot, w},
		"a record in a place for no slot":   {[][]any{{"HSET", w, "elsewhere", "x"}}, onOther, w},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server.do("FLUSHALL")
			openAndJoin(t, store)
			for _, command := range tc.damage {
				server.do(command...)
			}
			before := server.dump()
			for call, do := range tc.calls {
				expectForeign(t, call, do(), tc.key)
			}
			expectDump(t, server, before)
			o := anOpening()
			o.Reset, o.Incarnation = true, "B"
			mustOpen(t, store, o)
			openAndJoin(t, store)
		})
	}
}

// TestReadingWritesNothing: what is stored says the same in another way, as a member could write it. The leader, who would have to set it
// right, reads it before anything else.
func TestReadingWritesNothing(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	for _, field := range []string{"token", "counts", "limit", "record"} {
		t.Run(field, func(t *testing.T) {
			server.do("FLUSHALL")
			openAndJoin(t, store)
			want, err := store.Summary(t.Context(), uid)
			if err != nil {
				t.Fatal(err)
			}
			server.do("HSET", functions.StateKey(uid), field, fmt.Sprint("0", server.do("HGET", functions.StateKey(uid), field)))
			before := server.dump()
			if _, err := store.Missing(t.Context(), uid); err != nil {
				t.Errorf("missing: %v", err)
			}
			got, err := store.Summary(t.Context(), uid)
			if err != nil {
				t.Fatalf("summary: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
			expectDump(t, server, before)
			if _, err := store.Join(t.Context(), uid, aJoin("1")); err != nil {
				t.Errorf("join: %v", err)
			}
		})
	}
}

// TestARecordForNoSlotIsLetBe: a sound one, which nobody can be asked about, holds no recovery up.
func TestARecordForNoSlotIsLetBe(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	for name, record := range map[string]string{
		"it runs":         "pod-9 1 p n i-9 1 1 0 0 0 0 0",
		"it has finished": "pod-9 1 p n i-9 1 1 0 0 0 1 0",
	} {
		t.Run(name, func(t *testing.T) {
			server.do("FLUSHALL")
			openAndJoin(t, store)
			server.do("HSET", functions.SlotsKey(uid), "elsewhere", record)
			for _, slot := range []string{"0", "1"} { // whose agents know of rounds that the store has lost
				j := aJoin(slot)
				j.Seen = coordination.Seen{Epoch: 1, Round: 3, Holds: true, Running: true, Instances: 1}
				if _, err := store.Join(t.Context(), uid, j); err != nil {
					t.Fatal(err)
				}
			}
			sum, err := store.Summary(t.Context(), uid)
			if err != nil || sum.Phase != coordination.Running || sum.Round != 3 || sum.Joined != 2 {
				t.Errorf("%+v, error %v; want two that run in round 3", sum, err)
			}
		})
	}
}

func openAndJoin(t *testing.T, s *Store) {
	t.Helper()
	mustOpen(t, s, anOpening())
	if _, err := s.Join(t.Context(), uid, aJoin("0")); err != nil {
		t.Fatal(err)
	}
}

func allCalls(s *Store) map[string]func() error {
	ctx := context.Background()
	j, o := aJoin("0"), anOpening()
	opening := func(change func(*coordination.Open)) func() error {
		o := anOpening()
		change(&o)
		return func() error { _, err := s.Open(ctx, uid, o); return err }
	}
	return map[string]func() error{
		"join":      func() error { _, err := s.Join(ctx, uid, j); return err },
		"last join": func() error { _, err := s.Join(ctx, uid, aJoin("1")); return err },
		"down": func() error {
			_, err := s.Down(ctx, uid, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1})
			return err
		},
		"ask":        func() error { _, err := s.Ask(ctx, uid, j.Member, coordination.KindGap); return err },
		"recreate":   func() error { _, err := s.Recreate(ctx, uid, o.Token, 1, 1, coordination.KindGap); return err },
		"summary":    func() error { _, err := s.Summary(ctx, uid); return err },
		"open":       opening(func(*coordination.Open) {}),
		"next epoch": opening(func(o *coordination.Open) { o.Epoch++ }),
		"resize":     opening(func(o *coordination.Open) { o.Stages[0].Pods++ }),
	}
}

func pick(from map[string]func() error, names ...string) map[string]func() error {
	some := map[string]func() error{}
	for _, name := range names {
		some[name] = from[name]
	}
	return some
}

func expectForeign(t *testing.T, call string, err error, key string) {
	t.Helper()
	var foreign *coordination.ForeignValueError
	if !errors.As(err, &foreign) || foreign.Key != key {
		t.Errorf("%s: %v, want a foreign value at %s", call, err, key)
	}
}

func expectDump(t *testing.T, s *server, before map[string]string) {
	t.Helper()
	if after := s.dump(); !maps.Equal(before, after) {
		t.Errorf("something changed: %s", cmp.Diff(before, after))
	}
}

func TestAForeignHistoryIsTold(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, anOpening())
	server.do("RPUSH", functions.HistoryKey(uid), "1 2 3")
	_, err := store.History(t.Context(), uid)
	expectForeign(t, "history", err, functions.HistoryKey(uid))
	server.do("DEL", functions.HistoryKey(uid))
	server.do("SET", functions.HistoryKey(uid), "x")
	_, err = store.History(t.Context(), uid)
	expectForeign(t, "history", err, functions.HistoryKey(uid))
}

func TestAForeignIndexIsTold(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	server.do("SET", functions.IndexKey, "x")
	_, err := store.Groups(t.Context())
	expectForeign(t, "groups", err, functions.IndexKey)
}

func TestWhatCannotBeReadIsDropped(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	for _, damage := range [][]any{
		{"SET", functions.StateKey(uid), "x"}, {"HSET", functions.StateKey(uid), "token", "x"}, {"SET", functions.SlotsKey(uid), "x"},
	} {
		openAndJoin(t, store)
		if damage[0] == "SET" {
			server.do("DEL", damage[1])
		}
		server.do(damage...)
		if err := store.Drop(t.Context(), uid, coordination.Token{LeaseCreated: 1, Transitions: 1}); err != nil {
			t.Errorf("%v: %v", damage, err)
		}
		expectDump(t, server, map[string]string{})
	}
}

// TestAResetRespectsAYoungerLeader: damage elsewhere does not open the door to an old leader.
func TestAResetRespectsAYoungerLeader(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	openAndJoin(t, store)
	server.do("HSET", functions.StateKey(uid), "phase", "x")
	before := server.dump()
	o := anOpening()
	o.Reset, o.Incarnation, o.Token = true, "B", coordination.Token{LeaseCreated: 1, Transitions: 0}
	if _, err := store.Open(t.Context(), uid, o); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	expectDump(t, server, before)
}
