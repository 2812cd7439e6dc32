package restart

// Ledger answers "has this attempt been counted?" once per (uid, attempt). A controller that counts from a cache may see
// the same attempt several times, or an older one after a newer: both are no news. Attempts of one uid grow.
//
// The zero value is ready for use. A Ledger is not safe for concurrent use.
type Ledger struct{ highest map[string]int64 }

// Record counts the attempt and returns true, or returns false when this attempt or a later one was counted already.
func (l *Ledger) Record(uid string, attempt int64) bool {
	if l.highest == nil {
		l.highest = map[string]int64{}
	}
	if seen, ok := l.highest[uid]; ok && attempt <= seen {
		return false
	}
	l.highest[uid] = attempt
	return true
}

// Counted tells whether this attempt or a later one was counted already.
func (l *Ledger) Counted(uid string, attempt int64) bool {
	seen, ok := l.highest[uid]
	return ok && attempt <= seen
}

// Forget drops what is known of a uid; call it when the object is gone.
func (l *Ledger) Forget(uid string) { delete(l.highest, uid) }
