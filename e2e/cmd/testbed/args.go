package main

import (
	"fmt"
	"strings"
)

// parseArgs groups arguments of the form COMPONENT=--FLAG=VALUE by component.
func parseArgs(args []string) (map[string][]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	sorted := map[string][]string{}
	for _, arg := range args {
		component, flag, found := strings.Cut(arg, "=")
		if !found || component == "" || !strings.HasPrefix(flag, "-") {
			return nil, fmt.Errorf("--arg %q is not of the form COMPONENT=--FLAG=VALUE", arg)
		}
		sorted[component] = append(sorted[component], flag)
	}
	return sorted, nil
}
