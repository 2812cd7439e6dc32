package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Track is one series over time.
type Track struct {
	Labels map[string]string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	Time  time.Time
	Value float64
}

// Range evaluates an expression at every step of a range, including both ends. An empty result is not an error.
func (s Server) Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]Track, error) {
	seconds := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	a, err := s.ask(ctx, "/api/v1/query_range", url.Values{
		"query": {expression}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {strconv.Itoa(int(step.Seconds()))},
	})
	if err != nil {
		return nil, err
	}
	tracks, err := a.tracks()
	if err != nil {
		return nil, fmt.Errorf("querying Prometheus for %s: %w", expression, err)
	}
	return tracks, nil
}

func (a answer) tracks() ([]Track, error) {
	if a.Status != "success" {
		return nil, errors.New(a.Error)
	}
	var all []struct {
		Metric map[string]string `json:"metric"`
		Values []json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal(a.Data.Result, &all); err != nil {
		return nil, err
	}
	var tracks []Track
	for _, one := range all {
		track := Track{Labels: one.Metric}
		for _, raw := range one.Values {
			at, value := [2]any{}, point(0)
			if err := errors.Join(json.Unmarshal(raw, &at), json.Unmarshal(raw, &value)); err != nil {
				return nil, err
			}
			moment, ok := at[0].(float64)
			if !ok {
				return nil, fmt.Errorf("%s is not a sample", raw)
			}
			track.Points = append(track.Points, Point{time.Unix(int64(moment), 0).UTC(), float64(value)})
		}
		tracks = append(tracks, track)
	}
	return tracks, nil
}
