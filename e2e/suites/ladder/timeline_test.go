//go:build e2e && e2e_all

package ladder

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// timeline returns the timeline of the workload as the plugin computes it.
func (r *run) timeline() []timeline.Entry {
	r.Helper()
	entries, err := r.tell(r.ctx)
	r.must(err)
	return entries
}

func (r *run) tell(ctx context.Context) ([]timeline.Entry, error) {
	text, err := r.Plugin(ctx, r.ns, "timeline", name, "-o", "json")
	if err != nil {
		return nil, err
	}
	var entries []timeline.Entry
	return entries, json.Unmarshal([]byte(text), &entries)
}

// wantAnswers waits until the timeline shows the wanted number of recoveries at each level, and none at others. Repairs
// within a restart belong to that restart. Events and histories are written a moment after the fact.
func (r *run) wantAnswers(want map[int]int) {
	r.Helper()
	r.must(framework.Until(r.ctx, fmt.Sprintf("the recoveries by level are %v", want), func(ctx context.Context) error {
		got := map[int]int{}
		entries, err := r.tell(ctx)
		for _, e := range entries {
			if e.Level > 0 && e.What != timeline.Repair {
				got[e.Level]++
			}
		}
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("they are %v", got)
		}
		return err
	}))
}
