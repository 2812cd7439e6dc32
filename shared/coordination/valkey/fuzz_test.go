package valkey

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// FuzzParsers: whatever is read, a parser either refuses it as a foreign value or returns what is written back the same.
// Run it by count: go test -fuzz=FuzzParsers -fuzztime=100000x.
func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"", " ", "0", "-1", "9007199254740991", "9007199254740992", "1 2", "1 2 3", "js-w 1 3 0 held", "js-w 1 3 0 held\njs-x 2 2 1 gate", " 1 3 0 held", "js-w 1 3 0 kept", "1 2 0 1", "1 2 0 2",
		"1 A 0 1 0 Running 7 0,-", "1 A 0 1 -1 Running 7 x", "2 A 0 1 0 Running 7 0", "1 A 0 1 0 Sleeping 7 0", "1 A 0 1 0 Running 7", "1 A 0 1 0 Running 7 0!1!",
		"1 0   0   0  0 0 1 0 0 0 0 0 0 0 0 0", "1 1 js-w-0-0 exit 137 js-w-0-0-x n 9 OOMKilled 1 2 3 4 5 6 7 8 9 10 11 12", "1 1 js-w-0-0 exit -1   0  1 2 3 4 5 6 7 8 9 10 11 12",
		"1 1 js-w-0-0 exit 1e3   0  1 2 3 4 5 6 7 8 9 10 11 12", "\x00", "１ ２",
	} {
		f.Add(s)
	}
	f.Fuzz(checkParsers)
}

func checkParsers(t *testing.T, s string) {
	level, err := parseLevel(coordination.Version(), s)
	expectSound(t, s, err, level, func() (coordination.Level, error) { return parseLevel(coordination.Version(), level.String()) })
	token, err := parseToken(s)
	expectSound(t, s, err, token, func() (coordination.Token, error) { return parseToken(formatToken(token)) })
	stages, err := parseList(s, parseStage)
	expectSound(t, s, err, stages, func() ([]coordination.Stage, error) { return parseList(formatStages(stages), parseStage) })
	counts, err := parseList(s, parseStageCount)
	expectSound(t, s, err, counts, func() ([]coordination.Count, error) { return counts, nil })
	if r, err := parseRecord(s); err == nil && (r.Epoch < 0 || r.Ups < 0 || strings.Contains(r.Cause.Slot+r.Cause.Kind, " ")) {
		t.Errorf("record %q is %+v", s, r)
	} else if err != nil && !errors.Is(err, coordination.ErrForeignValue) {
		t.Errorf("record %q: %v is not a foreign value", s, err)
	}
}

func expectSound[T any](t *testing.T, s string, err error, value T, again func() (T, error)) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, coordination.ErrForeignValue) {
			t.Errorf("%q: %v is not a foreign value", s, err)
		}
		return
	}
	if back, err := again(); err != nil || !reflect.DeepEqual(value, back) {
		t.Errorf("%q is %+v, and comes back as %+v, error %v", s, value, back, err)
	}
}

const mutations = 3000

// TestMutatedRecords changes good records at random: the parsers stay sound, and the functions of the server either take
// a slot record for one or refuse it with nothing changed.
func TestMutatedRecords(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	openAndJoin(t, store)
	good := server.do("HGET", slotsKey(uid), "js-w-0-0").(string)
	opened := server.dump()
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for range mutations {
		record := mutate(r, good)
		checkParsers(t, mutate(r, "js-w 1 3 0 held\njs-x 2 2 1 gate"))
		checkParsers(t, mutate(r, "1 1 js-w-0-0 exit 137 js-w-0-0-x n 9 OOMKilled 1 2 3 4 5 6 7 8 9 10 11 12"))
		checkParsers(t, mutate(r, "1 A 0 1 0 Running 7 0!1,-,x"))
		server.do("HSET", slotsKey(uid), "js-w-0-0", record)
		before := server.dump()
		_, err := store.Join(t.Context(), uid, aJoin("0"))
		switch {
		case errors.Is(err, coordination.ErrForeignValue):
			refused++
			if !maps.Equal(before, server.dump()) {
				t.Fatalf("record %q: something changed", record)
			}
		case err != nil && !errors.Is(err, coordination.ErrFenced):
			t.Fatalf("record %q: %v", record, err)
		case err == nil || !maps.Equal(before, server.dump()):
			server.load(opened)
		}
	}
	if refused < mutations/4 {
		t.Errorf("only %d of %d records were refused", refused, mutations)
	}
}

// mutate replaces, removes or inserts one or two bytes.
func mutate(r *rand.Rand, s string) string {
	const alphabet = " -0123456789abe.x\n\x00\x7f\xff"
	b := []byte(s)
	for range 1 + r.IntN(2) {
		at, c := r.IntN(len(b)), alphabet[r.IntN(len(alphabet))]
		switch r.IntN(3) {
		case 0:
			b[at] = c
		case 1:
			b = append(b[:at], b[at+1:]...)
		default:
			b = append(b[:at], append([]byte{c}, b[at:]...)...)
		}
	}
	return string(b)
}
