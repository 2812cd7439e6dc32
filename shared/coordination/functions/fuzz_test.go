package functions

import (
	"errors"
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
		"1 A 0 1 0 Running 7 0,- 0", "1 A 0 1 -1 Running 7 x 0", "2 A 0 1 0 Running 7 0 0", "1 A 0 1 0 Sleeping 7 0 0", "1 A 0 1 0 Running 7 0", "1 A 0 1 0 Running 7 0!1! 0", "1 A 0 1 0 Running 7 0 -1", "1 A 0 1 0 Running 7 0 1000",
		"1 0   0   0  0 0 1 0 0 0 0 0 0 0 0 0", "1 1 js-w-0-0 exit 137 js-w-0-0-x n 9 OOMKilled 1 2 3 4 5 6 7 8 9 10 11 12", "1 1 js-w-0-0 exit -1   0  1 2 3 4 5 6 7 8 9 10 11 12",
		"1 1 js-w-0-0 exit 1e3   0  1 2 3 4 5 6 7 8 9 10 11 12", "\x00", "１ ２",
	} {
		f.Add(s)
	}
	f.Fuzz(checkParsers)
}

func checkParsers(t *testing.T, s string) {
	level, err := parseLevel(s)
	expectSound(t, s, err, level, func() (coordination.Level, error) { return parseLevel(level.String()) })
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

// TestMutatedRecords changes good records at random: the parsers stay sound.
func TestMutatedRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		checkParsers(t, mutate(r, "js-w 1 3 0 held\njs-x 2 2 1 gate"))
		checkParsers(t, mutate(r, "1 1 js-w-0-0 exit 137 js-w-0-0-x n 9 OOMKilled 1 2 3 4 5 6 7 8 9 10 11 12"))
		checkParsers(t, mutate(r, "1 A 0 1 0 Running 7 0!1,-,x 1000"))
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
