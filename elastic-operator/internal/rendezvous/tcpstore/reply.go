package tcpstore

import "encoding/binary"

// Replies of one byte.
const (
	replyReady    = 0 // to OpCheck if all keys exist
	replyNotReady = 1 // to OpCheck otherwise
	replyStopWait = 0 // to OpWait when all keys exist
	replyCanceled = 1 // to OpCancelWait
)

// Value returns the reply to OpGet and OpCompareSet, and one item of the reply to OpMultiGet.
func Value(v []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(v)), uint64(len(v))), v...)
}

// Number returns the reply to OpAdd, OpCount and OpDelete.
func Number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// Checked returns the reply to OpCheck.
func Checked(ready bool) []byte {
	if ready {
		return []byte{replyReady}
	}
	return []byte{replyNotReady}
}

// Ready returns the reply to OpWait. It is sent when all keys exist.
func Ready() []byte { return []byte{replyStopWait} }

// Canceled returns the reply to OpCancelWait. If the wait completed first, it follows the reply to the wait.
func Canceled() []byte { return []byte{replyCanceled} }

// Pong returns the reply to OpPing.
func Pong(nonce uint32) []byte { return binary.LittleEndian.AppendUint32(nil, nonce) }
