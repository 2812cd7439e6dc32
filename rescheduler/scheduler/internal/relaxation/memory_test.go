package relaxation

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestAPodIsRelaxedForItsAnnotationAndForAWhile(t *testing.T) {
	m := NewMemory(10, time.Minute)
	m.Remember("pod", `["a"]`, start)
	for name, c := range map[string]struct {
		pod   types.UID
		value string
		after time.Duration
		want  bool
	}{
		"at once":                     {"pod", `["a"]`, 0, true},
		"shortly before the end":      {"pod", `["a"]`, time.Minute - 1, true},
		"at the end":                  {"pod", `["a"]`, time.Minute, false},
		"another annotation":          {"pod", `["a","b"]`, 0, false},
		"another pod of the same one": {"other", `["a"]`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.Relaxed(c.pod, c.value, start.Add(c.after)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAPodThatIsRememberedAgainStaysLonger(t *testing.T) {
	m := NewMemory(10, time.Minute)
	m.Remember("pod", "1", start)
	m.Remember("pod", "2", start.Add(50*time.Second))
	m.Remember("other", "1", start.Add(100*time.Second))
	if !m.Relaxed("pod", "2", start.Add(100*time.Second)) {
		t.Error("forgotten with its first entry")
	}
	if m.Relaxed("pod", "1", start.Add(50*time.Second)) {
		t.Error("the annotation of before counts as dropped still")
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	const limit = 100
	m := NewMemory(limit, time.Hour)
	for i := range 10 * limit {
		m.Remember(types.UID(fmt.Sprint(i)), "x", start)
	}
	if len(m.pods) > limit || m.ages.Len() > limit {
		t.Errorf("%d pods, %d records", len(m.pods), m.ages.Len())
	}
	if !m.Relaxed(types.UID(fmt.Sprint(10*limit-1)), "x", start) {
		t.Error("the last one is forgotten")
	}
	if m.Relaxed("0", "x", start) {
		t.Error("the first one is not forgotten")
	}
}

func TestAPodThatIsRememberedAgainTakesOnePlace(t *testing.T) {
	m := NewMemory(2, time.Hour)
	m.Remember("first", "x", start)
	for i := range 1000 {
		m.Remember("second", fmt.Sprint(i), start)
	}
	if !m.Relaxed("first", "x", start) || !m.Relaxed("second", "999", start) || m.ages.Len() != 2 {
		t.Errorf("%d records; one of two pods is forgotten", m.ages.Len())
	}
}
