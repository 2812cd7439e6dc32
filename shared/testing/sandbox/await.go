package sandbox

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	patience = time.Minute
	// quiet is how long Always keeps checking.
	quiet = 600 * time.Millisecond
	pace  = 10 * time.Millisecond
)

// Eventually waits until check returns "", which means that there is no problem.
func (s *Sandbox) Eventually(check func() string) {
	s.Helper()
	if complaint := await(patience, check); complaint != "" {
		s.Fatalf("still after %s: %s\n%s", patience, complaint, s.report())
	}
}

// Always verifies that check keeps returning "" for a while.
func (s *Sandbox) Always(check func() string) {
	s.Helper()
	if complaint := remains(quiet, check); complaint != "" {
		s.Fatal(complaint)
	}
}

// Eventually is like Sandbox.Eventually, for tests without a sandbox.
func Eventually(t testing.TB, check func() string) {
	t.Helper()
	if complaint := await(patience, check); complaint != "" {
		t.Fatalf("still after %s: %s", patience, complaint)
	}
}

func await(patience time.Duration, check func() string) (complaint string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(pace) {
		if complaint = check(); complaint == "" || time.Now().After(deadline) {
			return complaint
		}
	}
}

func remains(quiet time.Duration, check func() string) (complaint string) {
	for deadline := time.Now().Add(quiet); time.Now().Before(deadline); time.Sleep(pace) {
		if complaint = check(); complaint != "" {
			return complaint
		}
	}
	return ""
}

// Differs describes the difference between the values, or returns "" if they are equal.
func Differs(what, want, got string) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s: want %q, got %q", what, want, got)
}

// ConditionOf formats a condition as "Type=Status/Reason".
func ConditionOf(conditions []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return kind + " is absent"
	}
	return fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason)
}

// Run runs a program until stop is called or the test ends. The program must return without an error.
func Run(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = func() {
		if ctx.Err() != nil {
			return
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// FreeAddress returns a local address with a free port.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
