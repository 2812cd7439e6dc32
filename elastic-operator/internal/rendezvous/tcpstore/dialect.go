package tcpstore

import "encoding/binary"

// Dialect is how a client frames its messages.
type Dialect int

// The dialects of a connection's first bytes.
const (
	// Unknown is none that is served.
	Unknown Dialect = iota
	// Undecided wants more bytes, see SniffLength.
	Undecided
	Classic
	Validated
)

// Dialects are those that are served.
func Dialects() []Dialect { return []Dialect{Classic, Validated} }

// SniffLength is how many bytes Sniff never wants more than.
const SniffLength = 5

// magic follows the byte 0 in the greeting of torch 2.3 and later.
const magic = 0x3C85F7CE

// Sniff tells the dialect by the first bytes of a connection, of which there is at least one.
//
// A classic SET begins with the byte 0 too. What follows is the length of its key, which is far below what the magic number would be.
func Sniff(first []byte) Dialect {
	switch b := first[0]; {
	case b > 0 && int(b) < len(classicOps):
		return Classic
	case b > 0:
		return Unknown
	case len(first) < SniffLength:
		return Undecided
	case binary.LittleEndian.Uint32(first[1:]) == magic:
		return Validated
	default:
		return Classic
	}
}

func (d Dialect) String() string {
	switch d {
	case Classic:
		return "classic"
	case Validated:
		return "validated"
	default:
		return "unknown"
	}
}
