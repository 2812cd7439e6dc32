package main

import (
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

const kubeletDefault = "default"

// nodeModel describes how the nodes behave, with values measured on the real node.
type nodeModel struct {
	rules  kubelet.Rules
	timing agent.Timing
}

// stopDelay is how long a deleted pod takes to end if its worker exits immediately.
const stopDelay = 100 * time.Millisecond

var kubelets = map[string]nodeModel{
	kubeletDefault: {defaults(), agent.Measured()},
	"period-1s":    {shortPeriod(), agent.Measured()},
	"evented":      {evented(), eventedTiming()},
}

func defaults() kubelet.Rules {
	rules := kubelet.KubeletRules()
	rules.StopDelay = stopDelay
	return rules
}

// shortPeriod returns rules for crashLoopBackOff.maxContainerRestartPeriod: 1s.
func shortPeriod() kubelet.Rules {
	rules := defaults()
	rules.BackOff.Initial, rules.BackOff.Max = time.Second, time.Second
	return rules
}

// evented returns rules for the kubelet's EventedPLEG gate, with which it receives an event for an exit instead of
// polling every second. The next container was running 112-161 ms after the call that stopped the previous one. The
// first 36-50 ms of that passed until the exit was reported.
func evented() kubelet.Rules {
	rules := defaults()
	rules.Tick, rules.RestartDelay = 25*time.Millisecond, 75*time.Millisecond
	return rules
}

func eventedTiming() agent.Timing {
	t := agent.Measured()
	t.Told = agent.Range{Least: 30 * time.Millisecond, Most: 45 * time.Millisecond}
	return t
}
