package tcp

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Message kinds. A member's requests have a number, which the answer repeats.
const (
	kindHello   = "hello" // token
	kindPing    = "ping"
	kindJoin    = "join"    // number, arguments of the call
	kindObserve = "observe" // number, slot, pod

	kindPong      = "pong"
	kindAnswer    = "answer"    // number, error, then one of: reply and level; level and place in JSON
	kindPublished = "published" // level
	kindRead      = "read"      // level that the relay has read; unreadable if there is none
	kindOutage    = "outage"    // why the relay cannot reach the store
)

// maxLine limits the length of a message, in bytes.
const maxLine = 16 << 10

// message is one line, split into fields.
type message []string

func (m message) kind() string { return m[0] }

// field returns the n-th field, or "" if there is none.
func (m message) field(n int) string {
	if n >= len(m) {
		return ""
	}
	return m[n]
}

var errField = errors.New("a field of a relay message contains a tab or a line break")

// line returns the message as it is sent.
func (m message) line() (string, error) {
	for _, field := range m {
		if strings.ContainsAny(field, "\t\n") {
			return "", errField
		}
	}
	return strings.Join(m, "\t") + "\n", nil
}

// reader reads messages.
type reader struct{ *bufio.Scanner }

func newReader(from interface{ Read([]byte) (int, error) }) reader {
	s := bufio.NewScanner(from)
	s.Buffer(make([]byte, 0, 512), maxLine)
	return reader{s}
}

func (r reader) next() (message, error) {
	if !r.Scan() {
		return nil, errors.Join(r.Err(), errEnded)
	}
	return strings.Split(r.Text(), "\t"), nil
}

var errEnded = errors.New("the connection to the relay has ended")

// answerErrors are the errors that an answer can carry. Any other error means that the relay could not reach the store.
var answerErrors = map[string]error{
	"no group": coordination.ErrNoGroup, "unknown slot": coordination.ErrUnknownSlot, "argument": coordination.ErrArgument,
	"foreign": coordination.ErrForeignValue,
}

const noError = ""

func errorText(err error) string {
	if err == nil {
		return noError
	}
	for text, known := range answerErrors {
		if errors.Is(err, known) {
			return text
		}
	}
	return strings.NewReplacer("\t", " ", "\n", " ").Replace("unreachable: " + err.Error())
}

func parseError(text string) error {
	if known := answerErrors[text]; known != nil || text == noError {
		return known
	}
	return fmt.Errorf("relay: %.200s", text)
}

// joinMessage returns the request for a join.
func joinMessage(number string, c rounds.Call) message {
	m := message{kindJoin, number}
	for _, a := range c.Arguments {
		m = append(m, fmt.Sprint(a))
	}
	return m
}

func joinOf(m message) rounds.Call {
	c := rounds.Call{Function: rounds.FunctionJoin}
	for _, field := range m[min(2, len(m)):] {
		c.Arguments = append(c.Arguments, field)
	}
	return c
}
