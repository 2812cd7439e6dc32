package valkey

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

const mutations = 3000

// TestMutatedRecords changes good records at random: the functions of the server either take a slot record for one or
// refuse it with nothing changed.
func TestMutatedRecords(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	openAndJoin(t, store)
	good := server.do("HGET", functions.SlotsKey(uid), "js-w-0-0").(string)
	opened := server.dump()
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for range mutations {
		record := mutate(r, good)
		server.do("HSET", functions.SlotsKey(uid), "js-w-0-0", record)
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
