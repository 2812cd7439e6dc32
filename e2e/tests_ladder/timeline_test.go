//go:build e2e && e2e_all

package tests_ladder

import (
	"encoding/json"
	"maps"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// timeline of the workload as the plugin tells it.
func (r *run) timeline() []timeline.Entry {
	r.Helper()
	text, err := r.Plugin(r.ctx, r.ns, "timeline", name, "-o", "json")
	r.must(err)
	var entries []timeline.Entry
	r.must(json.Unmarshal([]byte(text), &entries))
	return entries
}

// wantAnswers: as often as this was answered on each rung, and never on another. Repairs within a restart are part of that.
func (r *run) wantAnswers(want map[int]int) {
	r.Helper()
	if r.Failed() {
		return
	}
	got := map[int]int{}
	for _, e := range r.timeline() {
		if e.Rung > 0 && e.What != timeline.Repair {
			got[e.Rung]++
		}
	}
	if !maps.Equal(got, want) {
		r.Errorf("answers by rung are %v, want %v", got, want)
	}
}
