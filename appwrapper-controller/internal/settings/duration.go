package settings

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/grace"
)

// Duration is written as "5m"; nanoseconds, which is all that the published controller reads, are read too.
type Duration time.Duration

// UnmarshalJSON reads both ways of writing.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var nanoseconds int64
	if err := json.Unmarshal(raw, &nanoseconds); err == nil {
		*d = Duration(nanoseconds)
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return fmt.Errorf("%s is neither a duration such as \"5m\" nor a number of nanoseconds", raw)
	}
	parsed, err := grace.Rule{Name: "duration", Minimum: lowest}.Parse(text)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes the first way.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }
