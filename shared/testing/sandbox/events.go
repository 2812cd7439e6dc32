package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Eventf records an event. It implements the controller's event recorder.
func (s *Sandbox) Eventf(_, _ runtime.Object, kind, reason, action, note string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, kind+" "+reason+"/"+action+": "+fmt.Sprintf(note, args...))
}

// Events returns the events so far, in the form "Warning Reason/Action: note".
func (s *Sandbox) Events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// AwaitEvent waits for an event that contains the text.
func (s *Sandbox) AwaitEvent(text string) {
	s.Helper()
	s.Eventually(func() string {
		if slices.ContainsFunc(s.Events(), func(event string) bool { return strings.Contains(event, text) }) {
			return ""
		}
		return "no event contains " + text
	})
}
