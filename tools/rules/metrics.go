package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	makesMetric   = regexp.MustCompile(`prometheus\.(Counter|Gauge|Histogram|Summary)Opts\{|prometheus\.NewDesc\(`)
	definesMetric = regexp.MustCompile(`(?m)^\t(?:var )?([A-Z]\w+) += (?:counter|gauge|histogram)\(|^var ([A-Z]\w+) = (?:counter|gauge|histogram)\(`)
	usesMetric    = regexp.MustCompile(`\bseries\.([A-Z]\w+)`)
)

// checkMetrics checks that metrics are created only from the definitions in shared/series, and that a program uses each definition, so that
// dashboards and alerts name only existing series.
func checkMetrics(root string) ([]string, error) {
	var breaches []string
	defined, used := map[string]bool{}, map[string]bool{}
	err := eachGoFile(root, func(path, content string) {
		switch {
		case strings.HasSuffix(path, "_test.go"), within(path, "e2e/", "charts/", "tools/", "shared/bootstrap/meter/"):
		case within(path, "shared/series/"):
			for _, found := range definesMetric.FindAllStringSubmatch(content, -1) {
				defined[found[1]+found[2]] = true
			}
		default:
			if makesMetric.MatchString(content) {
				breaches = append(breaches, fmt.Sprintf("%s makes a metric: define it in shared/series and make it by shared/bootstrap/meter", path))
			}
			for _, found := range usesMetric.FindAllStringSubmatch(content, -1) {
				used[found[1]] = true
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if !used[name] {
			breaches = append(breaches, fmt.Sprintf("shared/series.%s is served by no program", name))
		}
	}
	return breaches, err
}
