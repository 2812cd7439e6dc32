// Package notes limits the length of event notes and other messages that the API server rejects if they are too long.
package notes

import "strings"

// MaxLength is the maximum length of an event note in bytes. The API server rejects events with longer notes.
const MaxLength = 1024

// Truncate shortens the text to at most length bytes. It does not split characters.
func Truncate(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(text[:length], "")
}
