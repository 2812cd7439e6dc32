package main

import (
	"time"

	"github.com/holdfast-project/holdfast/e2e/crew"
	"github.com/holdfast-project/holdfast/e2e/simulated"
)

const kubeletDefault = "default"

// kubelet is how the nodes behave, from values measured on the real node.
type kubelet struct {
	rules  simulated.Rules
	timing crew.Timing
}

// stopDelay is how long a deleted pod takes to end, whose worker ends at once.
const stopDelay = 100 * time.Millisecond

var kubelets = map[string]kubelet{
	kubeletDefault: {defaults(), crew.Measured()},
	"period-1s":    {shortPeriod(), crew.Measured()},
	"evented":      {evented(), eventedTiming()},
}

func defaults() simulated.Rules {
	rules := simulated.KubeletRules()
	rules.StopDelay = stopDelay
	return rules
}

// shortPeriod is crashLoopBackOff.maxContainerRestartPeriod: 1s.
func shortPeriod() simulated.Rules {
	rules := defaults()
	rules.BackOff.Initial, rules.BackOff.Max = time.Second, time.Second
	return rules
}

// evented is the kubelet's EventedPLEG gate: it hears of an exit instead of looking once a second. From the call that stops a
// container until the next one runs it took 112-161 ms, 36-50 ms of which until the exit was told.
func evented() simulated.Rules {
	rules := defaults()
	rules.Tick, rules.RestartDelay = 25*time.Millisecond, 75*time.Millisecond
	return rules
}

func eventedTiming() crew.Timing {
	t := crew.Measured()
	t.Told = crew.Range{Least: 30 * time.Millisecond, Most: 45 * time.Millisecond}
	return t
}
