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
	if err != nil || s.Participants != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}
