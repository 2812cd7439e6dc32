package health

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is read leniently: whatever is not there, or has another type, is empty.
type object map[string]any

func (o object) text(path ...string) string {
	value, _, _ := unstructured.NestedString(o, path...)
	return value
}

func (o object) number(absent int64, path ...string) int64 {
	value, found, err := unstructured.NestedFieldNoCopy(o, path...)
	if !found || err != nil {
		return absent
	}
	switch n := value.(type) {
	case int64:
		return n
	case int:
		return int64(n)
	case float64:
		return int64(n)
	}
	return absent
}

func (o object) list(path ...string) []object {
	value, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	items, _ := value.([]any)
	var found []object
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// condition returns whether one of the type is True, and what it says.
func (o object) condition(kind string) (isTrue bool, says string) {
	for _, c := range o.list("status", "conditions") {
		if c.text("type") == kind {
			return c.text("status") == "True", cmp.Or(c.text("message"), c.text("reason"))
		}
	}
	return false, ""
}

// terminal reads a pair of conditions that end the work.
func (o object) terminal(complete, failed string) Report {
	if isTrue, says := o.condition(failed); isTrue {
		return Report{State: Failed, Message: says}
	}
	if isTrue, _ := o.condition(complete); isTrue {
		return Report{State: Complete}
	}
	return Report{State: Active}
}

func count(n int64) *int32 {
	n32 := int32(max(0, n))
	return &n32
}
