package credentials

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"time"
)

const (
	// Annotation is the key of the annotation on a JobSet that contains a Record.
	Annotation = "holdfast.dev/store-user"
	// RotateAnnotation requests a new password whenever its value changes.
	RotateAnnotation = "holdfast.dev/rotate-store-password"
)

// maxHashes limits how many passwords are valid at the same time. A pod's password file may still contain any of them.
const maxHashes = 3

// Record is the persisted state of the store credentials for a JobSet's agents.
type Record struct {
	// Hashes lists the SHA-256 hashes of the valid passwords in hexadecimal, newest first.
	Hashes []string `json:"hashes"`
	// Since is when the newest password was written to the Secret.
	Since time.Time `json:"since"`
	// Pending means that the newest password may not be in the Secret yet, and only the process that generated it knows
	// it.
	Pending bool `json:"pending,omitempty"`
	// Held is, while Pending, the hash of the password last known to be in the Secret, which most pods have.
	Held string `json:"held,omitempty"`
	// CA is the hash of the store's CA in the Secret; empty if there is none.
	CA string `json:"ca,omitempty"`
	// Request is the last value of RotateAnnotation that was handled.
	Request string `json:"request,omitempty"`
	// Revoked is the reason why the JobSet no longer has a user. A new value of RotateAnnotation gives it a user again.
	Revoked string `json:"revoked,omitempty"`
}

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Of reads the record of a JobSet from its annotations. It returns nil if the record is missing or unreadable; the
// credentials are then created again.
func Of(annotations map[string]string) *Record {
	value, found := annotations[Annotation]
	if !found {
		return nil
	}
	var r Record
	malformed := func(text string) bool { return !hash.MatchString(text) }
	switch err := json.Unmarshal([]byte(value), &r); {
	case err != nil, len(r.Hashes) > maxHashes, len(r.Hashes) == 0 && r.Revoked == "", slices.ContainsFunc(r.Hashes, malformed):
		return nil
	}
	return &r
}

func (r Record) Format() string {
	value, _ := json.Marshal(r) // strings and a time can always be marshaled
	return string(value)
}

// Valid returns the hashes that the store must accept; none for a revoked user.
func (r *Record) Valid() []string {
	if r == nil || r.Revoked != "" {
		return nil
	}
	return r.Hashes
}

type Step string

const (
	Keep   Step = "Keep"   // nothing to do
	Renew  Step = "Renew"  // a new password is needed
	Retire Step = "Retire" // only the newest password is still needed
)

// Overlap is how long the previous password stays valid. It exceeds the kubelet's delay for updating Secrets in pods.
const Overlap = 10 * time.Minute

// Next returns the next step for a record. r is nil if there is no record yet. ca is the hash of the store's CA. The
// current password is replaced at maxAge; 0 means no limit.
func Next(r *Record, request, ca string, now time.Time, maxAge time.Duration) Step {
	switch {
	case r == nil, r.Request != request:
		return Renew
	case r.Revoked != "":
		return Keep
	case r.Pending, r.CA != ca, maxAge > 0 && now.Sub(r.Since) >= maxAge:
		return Renew
	case len(r.Hashes) > 1 && now.Sub(r.Since) >= Overlap:
		return Retire
	}
	return Keep
}

// with returns the record with a new password that is not in the Secret yet. Valid passwords remain valid while there
// is room. If one must be dropped, it is neither the held password nor the previous one, whose creator may have written
// it to the Secret without recording this.
func (r *Record) with(newest, request string, now time.Time) Record {
	next := Record{Hashes: append([]string{newest}, r.Valid()...), Since: now, Pending: true, Held: r.held(), Request: request}
	if last := len(next.Hashes) - 1; last == maxHashes {
		drop := last
		if next.Hashes[last] == next.Held {
			drop--
		}
		next.Hashes = slices.Delete(next.Hashes, drop, drop+1)
	}
	return next
}

// held returns the hash of the password last known to be in the Secret, or "" if there is none. For a pending record
// without Held it is the oldest password.
func (r *Record) held() string {
	valid := r.Valid()
	switch {
	case len(valid) == 0:
		return ""
	case !r.Pending:
		return valid[0]
	case slices.Contains(valid[1:], r.Held):
		return r.Held
	}
	return valid[len(valid)-1]
}

// waitsFor reports whether the password is the one waiting to be written to the Secret.
func (r *Record) waitsFor(password string) bool {
	return r != nil && r.Pending && r.Revoked == "" && r.Hashes[0] == hashOf(password)
}

// hashOf returns the hash of a password in the format of the store.
func hashOf(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// hashOfCA returns the hash of a CA, or "" for none.
func hashOfCA(ca []byte) string {
	if len(ca) == 0 {
		return ""
	}
	return hashOf(string(ca))
}

func (r Record) written(ca string, now time.Time) Record {
	r.Pending, r.Held, r.CA, r.Since = false, "", ca, now
	return r
}

func (r Record) retired() Record {
	r.Hashes = r.Hashes[:1]
	return r
}

func (r Record) revoked(why string) Record {
	return Record{Hashes: []string{}, Since: r.Since, Request: r.Request, Revoked: why}
}
