package credentials

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

const (
	// Annotation is the key, on a JobSet, of a Record.
	Annotation = "holdfast.dev/store-user"
	// RotateAnnotation asks for a new password whenever its value changes.
	RotateAnnotation = "holdfast.dev/rotate-store-password"
)

// maxHashes are valid at a time: those of the passwords that a pod's file may still hold.
const maxHashes = 3

// Record is what is known of the credentials of a JobSet's agents.
type Record struct {
	// Hashes are the SHA-256 of the passwords that are valid, in hexadecimal, the newest first.
	Hashes []string `json:"hashes"`
	// Since is when the newest was written into the Secret.
	Since time.Time `json:"since"`
	// Pending: the newest is not known to be in the Secret, and nobody knows it any more if its maker is gone.
	Pending bool `json:"pending,omitempty"`
	// Held is, while Pending, the hash of the password that was last known to be in the Secret, so that most pods have it.
	Held string `json:"held,omitempty"`
	// Request is the value of RotateAnnotation that was followed last.
	Request string `json:"request,omitempty"`
	// Revoked says why the JobSet has no user any more; a new value of RotateAnnotation gives it one again.
	Revoked string `json:"revoked,omitempty"`
}

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Of reads the record of a JobSet from its annotations. One that is absent or unreadable is nil: the credentials are made
// again.
func Of(annotations map[string]string) *Record {
	value, found := annotations[Annotation]
	if !found {
		return nil
	}
	var r Record
	if err := json.Unmarshal([]byte(value), &r); err != nil || len(r.Hashes) > maxHashes {
		return nil
	}
	if slices.ContainsFunc(r.Hashes, func(h string) bool { return !hash.MatchString(h) }) {
		return nil
	}
	if len(r.Hashes) == 0 && r.Revoked == "" {
		return nil
	}
	return &r
}

// Format is the value of the annotation.
func (r Record) Format() string {
	value, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encoding a record of credentials: %v", err)) // texts and a time always marshal
	}
	return string(value)
}

// Valid are the hashes that the store is to know; none for a user that is revoked.
func (r *Record) Valid() []string {
	if r == nil || r.Revoked != "" {
		return nil
	}
	return r.Hashes
}

// Step is what is to be done about credentials.
type Step string

const (
	Keep   Step = "Keep"   // they are as they should be
	Renew  Step = "Renew"  // a new password is needed
	Retire Step = "Retire" // only the newest is needed any more
)

// Ages of passwords.
type Ages struct {
	Max     time.Duration // of one in use, until it is replaced; 0 is for ever
	Overlap time.Duration // for which the one before stays valid: longer than the kubelet takes to bring a Secret into pods
}

// Next decides on a record, nil if there is none.
func Next(r *Record, request string, now time.Time, ages Ages) Step {
	switch {
	case r == nil, r.Request != request:
		return Renew
	case r.Revoked != "":
		return Keep
	case r.Pending:
		return Renew
	case ages.Max > 0 && now.Sub(r.Since) >= ages.Max:
		return Renew
	case len(r.Hashes) > 1 && now.Sub(r.Since) >= ages.Overlap:
		return Retire
	}
	return Keep
}

// with is the record with a new password that is not in the Secret yet. What was valid stays valid, as far as there is room: the one that
// is held is kept, and the one before, which its maker may have brought into the Secret without a word about it.
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

// held is the hash of the password that was last known to be in the Secret; "" if none was. Of a pending record that does not say it is
// the oldest.
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

// waitsFor reports whether a password is the one that is to be brought into the Secret.
func (r *Record) waitsFor(password string) bool {
	return r != nil && r.Pending && r.Revoked == "" && r.Hashes[0] == hashOf(password)
}

// written is the record once the newest password is in the Secret.
func (r Record) written(now time.Time) Record {
	r.Pending, r.Held, r.Since = false, "", now
	return r
}

// retired is the record with its newest password alone.
func (r Record) retired() Record {
	r.Hashes = r.Hashes[:1]
	return r
}

// revoked is the record of a JobSet that has no user any more.
func (r Record) revoked(why string) Record {
	return Record{Hashes: []string{}, Since: r.Since, Request: r.Request, Revoked: why}
}
