// Package admission has the names of the webhooks of each chart. The API server counts by these names. It does not distinguish webhooks of
// the same name in two configurations, and some of Kueue's webhooks share the names of ours, which are the published ones.
package admission

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names of the webhooks, by the folder of the chart.
var Names = map[string][]string{
	"holdfast-inplace":      {"mjob.holdfast.dev", "mpod.holdfast.dev"},
	"jobset-controller":     {"mjobset.kb.io", "vjobset.kb.io", "mpod.kb.io", "vpod.kb.io"},
	"appwrapper-controller": {"mappwrapper.kb.io", "vappwrapper.kb.io"},
	"rescheduler":           {"pods.rescheduler.holdfast.dev"},
}

// All returns all names.
func All() []string {
	var all []string
	for _, chart := range slices.Sorted(maps.Keys(Names)) {
		all = append(all, Names[chart]...)
	}
	return all
}

// Pattern returns a regular expression that matches only these names, for a PromQL string in double quotes.
func Pattern(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.ReplaceAll(strings.Join(quoted, "|"), `\`, `\\`)
}
