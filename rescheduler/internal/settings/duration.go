package settings

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/shared/grace"
)

// Duration is written as "5m" or "1m30s".
type Duration time.Duration

// UnmarshalJSON parses a string, or the number 0.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	if string(raw) == "0" {
		*d = 0
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return fmt.Errorf("%s is not a duration such as \"5m\"", raw)
	}
	parsed, err := grace.Rule{Name: "duration"}.Parse(text)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON encodes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }
