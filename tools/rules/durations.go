package main

import (
	"fmt"
	"strings"
)

// checkDurations checks that only shared/grace parses durations.
func checkDurations(root string) ([]string, error) {
	var breaches []string
	err := eachGoFile(root, func(path, content string) {
		if !within(path, "shared/grace/", "tools/", "e2e/") && strings.Contains(content, "time.ParseDuration(") {
			breaches = append(breaches, fmt.Sprintf("%s calls time.ParseDuration: use shared/grace", path))
		}
	})
	return breaches, err
}

func within(path string, folders ...string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}
