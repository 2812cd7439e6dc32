package relay

import (
	"fmt"
	"strings"
	"time"
)

// Record is what a relay writes into the store, where only the members of its group can read and write it. So a member that has
// read it knows its relay by the certificate, and the relay knows a member by the token.
type Record struct {
	Address     string // host:port
	Fingerprint string // SHA-256 of the certificate, in hexadecimal
	Token       string
}

// A record expires unless its relay writes it again.
const (
	RecordLife  = 90 * time.Second
	RecordEvery = 30 * time.Second
)

const recordVersion = "1"

// String returns the stored form.
func (r Record) String() string {
	return strings.Join([]string{recordVersion, r.Address, r.Fingerprint, r.Token}, " ")
}

// ParseRecord parses the stored form. Any member may have written it.
func ParseRecord(text string) (Record, error) {
	f := strings.Split(text, " ")
	if len(f) != 4 || f[0] != recordVersion || f[1] == "" || len(f[2]) != 64 || f[3] == "" {
		return Record{}, fmt.Errorf("%.80q is not the record of a relay", text)
	}
	return Record{f[1], f[2], f[3]}, nil
}
