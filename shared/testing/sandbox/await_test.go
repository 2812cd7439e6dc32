package sandbox

import (
	"fmt"
	"testing"
	"time"
)

func TestAwaitEndsWithoutComplaint(t *testing.T) {
	looks := 0
	got := await(time.Minute, func() string {
		if looks++; looks < 3 {
			return "not yet"
		}
		return ""
	})
	if got != "" || looks != 3 {
		t.Errorf("%q after %d looks", got, looks)
	}
}

func TestAwaitReturnsTheLastComplaint(t *testing.T) {
	looks := 0
	got := await(0, func() string { looks++; return fmt.Sprint("complaint ", looks) })
	if got != fmt.Sprint("complaint ", looks) || looks == 0 {
		t.Errorf("%q after %d looks", got, looks)
	}
}

func TestRemainsReturnsTheFirstComplaint(t *testing.T) {
	looks := 0
	got := remains(time.Minute, func() string {
		if looks++; looks == 2 {
			return "now"
		}
		return ""
	})
	if got != "now" || looks != 2 {
		t.Errorf("%q after %d looks", got, looks)
	}
}
