package main

import (
	"testing"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
)

func TestServerParsesTheJoinedState(t *testing.T) {
	var text []byte
	for agent := range 3 {
		text = joined(text, agent)
	}
	s, err := state.Parse(string(text))
	if err != nil || len(s.Participants) != 3 || s.Participants[2].Name != "worker-00002.a-job-of-many.default.svc_7_0" {
		t.Errorf("%+v, %v", s, err)
	}
}
