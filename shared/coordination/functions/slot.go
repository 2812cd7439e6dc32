package functions

import "github.com/holdfast-project/holdfast/shared/coordination"

// Slot is what is stored of a slot: the pod that holds it, and its last instance.
type Slot struct {
	Pod     string
	PodBorn int64 // Unix microseconds, and so is Born
	coordination.Place
	ID         string
	Born       int64
	Ran        bool  // its user code has begun to run
	Round      int64 // that it was given, NoRound while its step forms
	Generation int64
	Dead       bool
	Finished   bool
	Barrier    bool
}

// ParseSlot reads SLOT of lua/20_records.lua.
func ParseSlot(record string) (Slot, error) {
	f := split(record, 12)
	s := Slot{
		Pod: f.word(), PodBorn: f.count(), Place: coordination.Place{PodName: f.word(), Node: f.word()}, ID: f.word(), Born: f.count(),
		Ran: f.bit(), Round: f.number(coordination.NoRound), Generation: f.count(), Dead: f.bit(), Finished: f.bit(), Barrier: f.bit(),
	}
	return s, f.err
}
