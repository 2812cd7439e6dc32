// Package relay contains the logic of relays. In a large group, some members each act as a relay for about a hundred others: they forward
// the published levels, and combine joins into one store call. If its relay does not respond, a member uses the store directly, so
// a relay is an optimization and never a dependency. Deaths and all other calls go to the store directly. The package does no I/O:
// package tcp and the simulation execute its decisions.
package relay

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Plan determines which workers are relays. All members of a group must have the same plan.
type Plan struct {
	From int64 // stages with fewer slots have no relays; if 0, no stage has relays
	Per  int64 // number of members that share a relay, including the relay; at most rounds.MaxBatch
}

// DefaultPer is the default for Plan.Per. Larger batches do not reduce the store's cost per member much further.
const DefaultPer = 100

// Of returns the slot of the relay that serves a slot in the stage. For a relay's own slot, it returns that slot. It returns "" if the
// slot has no relay. Relays are Per indexes apart, so they usually run on different nodes, unless a node has more workers than that.
func (p Plan) Of(stage coordination.Stage, slot string) string {
	if p.From <= 0 || stage.Slots() < max(2, p.From) || !stage.Has(slot) {
		return ""
	}
	at, _ := coordination.PositionOf(slot, 0, 0)
	index := at.Job*stage.Pods + at.Pod
	index -= index % min(max(1, p.Per), rounds.MaxBatch)
	return stage.Slot(index/stage.Pods, index%stage.Pods)
}

// Record is what a relay writes to the store, where only the members of its group can read and write it. A member that has read
// the record can therefore authenticate the relay by its certificate, and the relay can authenticate the member by the token.
type Record struct {
	Address     string // host:port
	Fingerprint string // SHA-256 of the certificate, in hexadecimal
	Token       string
}

// A record expires unless its relay renews it.
const (
	RecordLife  = 90 * time.Second
	RecordEvery = 30 * time.Second
)

const recordVersion = "2"

// String returns the stored form.
func (r Record) String() string {
	return strings.Join([]string{recordVersion, r.Address, r.Fingerprint, r.Token}, " ")
}

// ParseRecord parses the stored form. Any member may have written it.
func ParseRecord(text string) (Record, error) {
	f := strings.Split(text, " ")
	if len(f) != 4 || f[0] != recordVersion || f[1] == "" || len(f[2]) != 64 || f[3] == "" {
		return Record{}, fmt.Errorf("%.80q is not a relay record", text)
	}
	return Record{f[1], f[2], f[3]}, nil
}
