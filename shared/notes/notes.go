// Package notes limits the length of event notes and of other messages that the API server rejects when they are too long.
package notes

import "strings"

// MaxLength is the maximum length of an event note in bytes. The API server rejects events with longer notes.
const MaxLength = 1024

// Truncate returns the text, shortened to a length in bytes if it is longer. It does not split characters.
func Truncate(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "")
}
