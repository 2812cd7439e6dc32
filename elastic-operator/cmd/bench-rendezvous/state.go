package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// The parts of a pickle of torch's state, protocol 2: what comes before the participants, and after them.
const (
	head = "\x80\x02ctorch\n_RendezvousState\n)\x81}(X\x05\x00\x00\x00roundK\x00X\x08\x00\x00\x00complete\x89X\x06\x00\x00\x00closed\x89X\x0c\x00\x00\x00participants}("
	tail = "uub."
)

// joined is the state, as an agent has read it, with that agent among its participants. Nothing is a state of its own.
func joined(state []byte, agent int) []byte {
	pickle := head + tail
	if len(state) > 0 {
		raw, err := base64.StdEncoding.DecodeString(string(state))
		if err != nil {
			panic(err) // the server has changed what agents wrote
		}
		pickle = string(raw)
	}
	return []byte(base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(pickle, tail) + participant(agent) + tail)))
}

// participant is an agent with its rank, none so far, about as long as torch writes it with the time of its last heartbeat.
func participant(agent int) string {
	name := fmt.Sprintf("worker-%05d.a-job-of-many.default.svc", agent)
	return "ctorch\n_NodeDesc\n)\x81}(X\x04\x00\x00\x00addr" + text(name) + "X\x03\x00\x00\x00pidK\x07X\x08\x00\x00\x00local_idK\x00ubK\x00"
}

func text(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }
