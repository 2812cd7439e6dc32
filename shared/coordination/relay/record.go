package relay

import (
	"fmt"
	"strings"
	"time"
)

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

const recordVersion = "1"

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
