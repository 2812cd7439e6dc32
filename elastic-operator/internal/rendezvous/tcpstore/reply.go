package tcpstore

import "encoding/binary"

// Replies that are one byte.
const (
	replyReady    = 0 // to OpCheck: all keys are there
	replyNotReady = 1
	replyStopWait = 0 // to OpWait: all keys are there now
	replyCanceled = 1 // to OpCancelWait
)

// Value is the reply to OpGet and OpCompareSet, and one of those to OpMultiGet.
func Value(v []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(v)), uint64(len(v))), v...)
}

// Number is the reply to OpAdd, OpCount and OpDelete.
func Number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// Checked is the reply to OpCheck.
func Checked(ready bool) []byte {
	if ready {
		return []byte{replyReady}
	}
	return []byte{replyNotReady}
}

// Ready is the reply to OpWait; there is none before the keys are there.
func Ready() []byte { return []byte{replyStopWait} }

// Canceled is the reply to OpCancelWait, after that to the wait if this came first.
func Canceled() []byte { return []byte{replyCanceled} }

// Pong is the reply to OpPing.
func Pong(nonce uint32) []byte { return binary.LittleEndian.AppendUint32(nil, nonce) }
