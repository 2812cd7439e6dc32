package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Eventf records an event: the sandbox is the controller's recorder.
func (s *Sandbox) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, kind+" "+reason+"/"+action+": "+fmt.Sprintf(note, args...))
}

// Events so far: "Warning Reason/Action: note".
func (s *Sandbox) Events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// AwaitEvent waits for an event with the text in it.
func (s *Sandbox) AwaitEvent(text string) {
	s.Helper()
	s.Eventually(func() string {
		if slices.ContainsFunc(s.Events(), func(event string) bool { return strings.Contains(event, text) }) {
			return ""
		}
		return "no event says " + text
	})
}
