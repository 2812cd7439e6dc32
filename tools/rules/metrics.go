package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	definesMetric = regexp.MustCompile(`(?m)^\t(?:var )?([A-Z]\w+) += (?:counter|gauge|histogram)\(|^var ([A-Z]\w+) = (?:counter|gauge|histogram)\(`)
	usesMetric    = regexp.MustCompile(`\bseries\.([A-Z]\w+)`)
)

// checkMetrics checks that each definition in shared/series is used by a program, so that dashboards and alerts refer only to existing
// series. The linter forbids creating metrics elsewhere.
func checkMetrics(root string) ([]string, error) {
	defined, used := map[string]bool{}, map[string]bool{}
	err := eachGoFile(root, func(path, content string) {
		switch {
		case strings.HasSuffix(path, "_test.go"), within(path, "e2e/", "charts/", "tools/", "shared/bootstrap/meter/"):
		case within(path, "shared/series/"):
			for _, found := range definesMetric.FindAllStringSubmatch(content, -1) {
				defined[found[1]+found[2]] = true
			}
		default:
			for _, found := range usesMetric.FindAllStringSubmatch(content, -1) {
				used[found[1]] = true
			}
		}
	})
	var breaches []string
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if !used[name] {
			breaches = append(breaches, fmt.Sprintf("shared/series.%s is not served by any program", name))
		}
	}
	return breaches, err
}
