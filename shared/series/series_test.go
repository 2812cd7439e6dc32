package series

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	name  = regexp.MustCompile(`^(holdfast|jobset|appwrapper|elasticjob|rescheduler)(_[a-z]+)+$`)
	units = []string{"_seconds", "_seconds_total", "_total"}
)

func TestNamesFollowTheConventions(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if !name.MatchString(m.Name) || seen[m.Name] {
			t.Errorf("%s is an invalid name or a duplicate", m.Name)
		}
		seen[m.Name] = true
		if got := strings.HasSuffix(m.Name, "_total"); got != (m.Type == Counter) {
			t.Errorf("%s has type %s", m.Name, m.Type)
		}
		if m.Type == Histogram && !slices.ContainsFunc(units, func(unit string) bool { return strings.HasSuffix(m.Name, unit) }) {
			t.Errorf("%s has no unit", m.Name)
		}
		if !strings.HasSuffix(m.Help, ".") || len(m.Programs) == 0 {
			t.Errorf("%s: no programs (%v), or help without a final period: %q", m.Name, m.Programs, m.Help)
		}
	}
}

func TestNoLabelNamesAnObject(t *testing.T) {
	for _, m := range All() {
		for _, label := range m.Labels {
			if slices.Contains([]string{"pod", "node", "job", "jobset", "jobset_name", "name", "uid"}, label) {
				t.Errorf("%s has label %s", m.Name, label)
			}
		}
	}
}
