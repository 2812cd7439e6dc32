package tcpstore

import "encoding/binary"

// Dialect is a version of the TCPStore protocol.
type Dialect int

// Results of Sniff.
const (
	// Unknown is a dialect that is not supported.
	Unknown Dialect = iota
	// Undecided means that SniffLength bytes are needed.
	Undecided
	Classic
	Validated
)

// Dialects returns the supported dialects.
func Dialects() []Dialect { return []Dialect{Classic, Validated} }

// SniffLength is the number of bytes that is always enough for Sniff.
const SniffLength = 5

// Magic follows the byte 0 in the greeting of torch 2.3 and later.
const Magic = 0x3C85F7CE

// Sniff returns the dialect of a connection by its first bytes. At least one byte is required.
//
// A classic SET also begins with the byte 0. It is followed by the length of the key, which is much smaller than the magic number.
func Sniff(first []byte) Dialect {
	switch b := first[0]; {
	case b > 0 && int(b) < len(classicOps):
		return Classic
	case b > 0:
		return Unknown
	case len(first) < SniffLength:
		return Undecided
	case binary.LittleEndian.Uint32(first[1:]) == Magic:
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
