package main

import (
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

const kubeletDefault = "default"

// nodeModel is how the nodes behave, from values measured on the real node.
type nodeModel struct {
	rules  kubelet.Rules
	timing agent.Timing
}

// stopDelay is how long a deleted pod takes to end, whose worker ends at once.
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

// shortPeriod is crashLoopBackOff.maxContainerRestartPeriod: 1s.
func shortPeriod() kubelet.Rules {
	rules := defaults()
	rules.BackOff.Initial, rules.BackOff.Max = time.Second, time.Second
	return rules
}

// evented is the kubelet's EventedPLEG gate: it hears of an exit instead of looking once a second. From the call that stops a
// container until the next one runs it took 112-161 ms, 36-50 ms of which until the exit was told.
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
