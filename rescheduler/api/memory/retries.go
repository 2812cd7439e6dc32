package memory

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxRetries is the largest value of RetriesAnnotation that counts; larger ones are taken for it.
const MaxRetries = 10000

// Retries is how many moves the annotations of a workload allow. asked reports whether they say anything at all: a workload
// that does not ask is left alone. The error is about a value that is no number or below 0; asked is false then.
func Retries(annotations map[string]string) (retries int, asked bool, err error) {
	value, found := annotations[RetriesAnnotation]
	if !found {
		return 0, false, nil
	}
	retries, err = strconv.Atoi(strings.TrimSpace(value))
	if err != nil || retries < 0 {
		return 0, false, fmt.Errorf("%s: %.40q is not a whole number of 0 or more", RetriesAnnotation, value)
	}
	return min(retries, MaxRetries), true, nil
}

// Next is the count after one more move, and whether that is more than a workload may have: then the pod is not moved, the
// count stays, and no node is avoided any more. So a workload has `retries` moves at most. (The design document moves first and compares
// then, one more.)
func Next(times, retries int) (next int, exhausted bool) {
	next = max(0, times) + 1
	return next, next > retries
}
