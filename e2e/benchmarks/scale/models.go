package main

import (
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/agent"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

// models returns what is simulated, with the values used in the runs.
func models() []results.Model {
	const node = "real node, containerd 2.2"
	t, evented := agent.Measured(), kubelets["evented"]
	rules, period := kubelet.KubeletRules(), kubelets["period-1s"]
	return []results.Model{
		{What: "signal until a process is gone", Value: t.Dies.String(), Source: node + ", pidfd on containers' first processes"},
		{What: "process gone until its supervisor knows", Value: t.Reaped.String(), Source: node + ", pidfd on a child"},
		{What: "barrier lifted until the program runs", Value: t.Execs.String(), Source: node + ", a small supervisor's next child"},
		{What: "process gone until the runtime reports that the container exited", Value: t.Told.String(), Source: node + ", StopContainer and its event, less the process's end"},
		{What: "the runtime's start event until the sidecar receives it", Value: t.Event.String(), Source: node},
		{What: "removal of a container's record", Value: t.Removed.String(), Source: node},
		{What: "pod bound until its containers run", Value: rules.StartDelay.String(), Source: "real node, 0.84 s from creation to ready with an image that is already on the node"},
		{What: "the kubelet checks for exited containers", Value: "every " + rules.Tick.String(), Source: "the kubelet's constant; an exit is detected after a time that is uniformly distributed over this interval"},
		{What: "kubelet's decision until the container runs again", Value: rules.RestartDelay.String(), Source: node + ": 0.32-1.24 s from the stop until it is running"},
		{What: "deleted pod until its containers have ended", Value: stopDelay.String(), Source: node + ", a worker that ends immediately"},
		{What: "kubelet's back-off", Value: fmt.Sprintf("none, then %s, doubled up to %s, forgotten after %s", rules.BackOff.Initial, rules.BackOff.Max, rules.BackOff.ResetAfter),
			Source: "the kubelet's; it retries up to 50 % later. Measured: 15, 23, 47 s"},
		{What: "the same, kubelet period-1s", Value: period.rules.BackOff.Max.String(), Source: "crashLoopBackOff.maxContainerRestartPeriod; measured: 2 s"},
		{What: "kubelet evented", Value: fmt.Sprintf("exit reported after %s, detected within %s, running again %s later", evented.timing.Told, evented.rules.Tick, evented.rules.RestartDelay),
			Source: "the kubelet's EventedPLEG gate; measured: 112-161 ms from the stop until it is running"},
	}
}
