package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// keys are all annotations that are read.
var keys = []string{
	v1beta2.AdmissionGracePeriodKey, v1beta2.WarmupGracePeriodKey, v1beta2.FailureGracePeriodKey, v1beta2.RetryPausePeriodKey,
	v1beta2.RetryLimitKey, v1beta2.ForcefulDeletionGracePeriodKey, v1beta2.DeletionOnFailureGracePeriodKey, v1beta2.SuccessTTLKey,
	v1beta2.TerminalExitCodesKey, v1beta2.RetryableExitCodesKey,
}

// unknownKeys are annotations with our prefix that nobody reads: most likely misspelt.
func unknownKeys(annotations map[string]string) []Problem {
	prefix, _, _ := strings.Cut(v1beta2.RetryLimitKey, "/")
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, prefix+"/") && !slices.Contains(keys, key) {
			problems = append(problems, Problem{key, annotations[key], fmt.Sprintf("%s: nothing reads this annotation; known are %s", key, strings.Join(keys, ", "))})
		}
	}
	return problems
}
