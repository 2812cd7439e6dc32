package rounds

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Line is one line of the history: why a round was opened. Times are the store's. The cause begins with the slot and goes on
// with what the member or the leader has said: it may be forged.
type Line struct {
	Generation, Round int64
	StartedBefore     time.Time // when the round before it had started; zero: it had not
	OpenedAt          time.Time
	Slot, Cause       string
}

// ParseLine reads a line. An error quotes the text.
func ParseLine(text string) (Line, error) {
	f := strings.SplitN(text, " ", 6)
	if len(f) < 5 || len(text) > 2*MaxText {
		return Line{}, fmt.Errorf("history: %.80q is not a line", text)
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || n < 0 || n > MaxCount {
			return Line{}, fmt.Errorf("history: line %.80q: %q is not a count", text, f[i])
		}
		numbers[i] = n
	}
	l := Line{Generation: numbers[0], Round: numbers[1], OpenedAt: time.UnixMilli(numbers[3]), Slot: f[4]}
	if numbers[2] > 0 {
		l.StartedBefore = time.UnixMilli(numbers[2])
	}
	if len(f) == 6 {
		l.Cause = f[5]
	}
	return l, nil
}
