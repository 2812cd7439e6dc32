package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// The pickle of torch's state (protocol 2), split at the participants.
const (
	head = "\x80\x02ctorch\n_RendezvousState\n)\x81}(X\x05\x00\x00\x00roundK\x00X\x08\x00\x00\x00complete\x89X\x06\x00\x00\x00closed\x89X\x0c\x00\x00\x00participants}("
	tail = "uub."
)

// joined returns the state with the agent added to its participants. An empty state has no participants.
func joined(state []byte, agent int) []byte {
	pickle := head + tail
	if len(state) > 0 {
		raw, err := base64.StdEncoding.DecodeString(string(state))
		if err != nil {
			panic(err) // the server has modified the value
		}
		pickle = string(raw)
	}
	return []byte(base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(pickle, tail) + participant(agent) + tail)))
}

// participant returns the entry of an agent that has no rank. The entry is about as long as torch's entry for an agent
// together with its last heartbeat.
func participant(agent int) string {
	name := fmt.Sprintf("worker-%05d.a-job-of-many.default.svc", agent)
	return "ctorch\n_NodeDesc\n)\x81}(X\x04\x00\x00\x00addr" + text(name) + "X\x03\x00\x00\x00pidK\x07X\x08\x00\x00\x00local_idK\x00ubK\x00"
}

func text(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
