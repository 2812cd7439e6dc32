package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/restart"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// facts returns the facts about a workload that has one Job with two running pods and started an hour ago.
func facts(changes ...func(*Facts)) *Facts {
	p, _ := settings.Read(nil, settings.Default().FaultTolerance)
	f := &Facts{
		Now: now, Parameters: p, Phase: v1beta2.Running, Finalizer: true, Deployed: true, Ready: true,
		Clocks:     v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(now.Add(-time.Hour))},
		Components: []Component{{Name: "Job j", Created: true, Presence: Present, Finishes: true, Report: health.Report{State: health.Active}, Pods: 2}},
	}
	have(corev1.PodRunning, corev1.PodRunning)(f)
	for _, change := range changes {
		change(f)
	}
	return f
}

// have sets the pods of the first component.
func have(phases ...corev1.PodPhase) func(*Facts) {
	return func(f *Facts) {
		var list []*corev1.Pod
		for _, phase := range phases {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{v1beta2.ComponentLabel: "0"}}}
			if pod.Status.Phase = phase; phase == "Terminating" {
				pod.Status.Phase, pod.DeletionTimestamp = corev1.PodRunning, &metav1.Time{Time: now}
			}
			if phase == corev1.PodFailed {
				pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}
			}
			list = append(list, pod)
		}
		f.Pods = pods.Summarize(list)
	}
}

func states(state health.State) func(*Facts) {
	return func(f *Facts) { f.Components[0].Report.State = state }
}

// elastic makes one pod sufficient for the component, and sets whether the component reports that enough pods are
// running.
func elastic(goesOn bool) func(*Facts) {
	return func(f *Facts) {
		f.Components[0].Report.Pods, f.Components[0].Report.EnoughPods = ptr.To[int32](1), goesOn
	}
}

func unhealthyFor(d time.Duration) func(*Facts) {
	return func(f *Facts) { f.Clocks.UnhealthySince.Time = f.Now.Add(-d) }
}

// condition returns a condition that a decision writes, as Status/Reason.
func condition(d *Decision, kind v1beta2.AppWrapperCondition) string {
	for _, c := range slices.Backward(d.Conditions) {
		if c.Type == string(kind) {
			return string(c.Status) + "/" + c.Reason
		}
	}
	return ""
}

// The cases cover each of the six failure conditions, and whether FailureGracePeriod applies to it.
func TestUnhealthyConditions(t *testing.T) {
	early := func(f *Facts) { f.Ready, f.Clocks.AttemptStart.Time = false, f.Now.Add(-30*time.Second) }
	for name, tc := range map[string]struct {
		facts   *Facts
		next    v1beta2.AppWrapperPhase
		says    string // of Unhealthy
		retries int32
		again   time.Duration
	}{
		"healthy":                                  {facts(), v1beta2.Running, "False/FoundNoFailedPods", 0, 0},
		"failed pods have a grace period":          {facts(have("Failed", "Running")), v1beta2.Running, "True/FoundFailedPods", 0, time.Minute},
		"failed pods within the grace period":      {facts(have("Failed", "Running"), unhealthyFor(59*time.Second)), v1beta2.Running, "True/FoundFailedPods", 0, time.Second},
		"failed pods after the grace period":       {facts(have("Failed", "Running"), unhealthyFor(time.Minute)), v1beta2.Resetting, "True/FoundFailedPods", 1, 0},
		"a pod and then its replacement failed":    {facts(have("Failed", "Failed", "Running", "Running"), unhealthyFor(time.Minute)), v1beta2.Running, "False/FoundNoFailedPods", 0, 0},
		"a pod that terminates slowly":             {facts(have("Running", "Terminating"), early, func(f *Facts) { f.Clocks.AttemptStart.Time = now.Add(-2 * time.Minute) }, unhealthyFor(time.Minute)), v1beta2.Running, "False/FoundNoFailedPods", 0, 3 * time.Minute},
		"a pod that terminates too slowly":         {facts(have("Running", "Terminating"), early, func(f *Facts) { f.Clocks.AttemptStart.Time = now.Add(-6 * time.Minute) }, unhealthyFor(time.Minute)), v1beta2.Resetting, "True/InsufficientPodsReady", 1, 0},
		"pods that do not exist yet":               {facts(have("Pending"), early), v1beta2.Running, "False/FoundNoFailedPods", 0, 30 * time.Second},
		"pods that do not exist in time":           {facts(have("Pending"), early, func(f *Facts) { f.Clocks.AttemptStart.Time = now.Add(-time.Minute) }), v1beta2.Running, "True/InsufficientPodsReady", 0, time.Minute},
		"pods missing after the grace period":      {facts(have("Pending"), early, func(f *Facts) { f.Clocks.AttemptStart.Time = now.Add(-2 * time.Minute) }, unhealthyFor(time.Minute)), v1beta2.Resetting, "True/InsufficientPodsReady", 1, 0},
		"pods that are not running yet":            {facts(have("Pending", "Running"), early), v1beta2.Running, "False/FoundNoFailedPods", 0, 4*time.Minute + 30*time.Second},
		"pods that are not running in time":        {facts(have("Pending", "Running"), early, func(f *Facts) { f.Clocks.AttemptStart.Time = now.Add(-5 * time.Minute) }), v1beta2.Running, "True/InsufficientPodsReady", 0, time.Minute},
		"a node marked NoExecute, no grace period": {facts(func(f *Facts) { f.Evacuation = &Evacuation{Nodes: []string{"n"}} }), v1beta2.Resetting, "True/AutopilotNoExecute", 0, 0},
		"a failed component, no grace period":      {facts(states(health.Failed)), v1beta2.Resetting, "True/FailedComponent", 1, 0},
		"a component deleted by another client":    {facts(func(f *Facts) { f.Components[0].Presence = Absent }), v1beta2.Failed, "True/MissingComponent", 0, 0},
		"a component being deleted by a client":    {facts(func(f *Facts) { f.Components[0].Presence = Terminating }), v1beta2.Failed, "True/MissingComponent", 0, 0},
		"an unreadable component is not missing":   {facts(func(f *Facts) { f.Components[0].Presence = Unreadable }), v1beta2.Running, "False/FoundNoFailedPods", 0, 0},
		"no reset is left":                         {facts(states(health.Failed), func(f *Facts) { f.Retries = 3 }), v1beta2.Failed, "True/FailedComponent", 3, 0},
		"the last reset":                           {facts(states(health.Failed), func(f *Facts) { f.Retries = 2 }), v1beta2.Resetting, "True/FailedComponent", 3, 0},
		"an evacuation at the retry limit":         {facts(func(f *Facts) { f.Retries, f.Evacuation = 3, &Evacuation{} }), v1beta2.Failed, "True/AutopilotNoExecute", 3, 0},
		"an evacuation that must wait":             {facts(func(f *Facts) { f.Evacuation = &Evacuation{Held: "busy"} }), v1beta2.Running, "True/AutopilotNoExecute", 0, evacuationPoll},
		"a terminal exit code":                     {facts(have("Failed", "Running"), unhealthyFor(time.Hour), func(f *Facts) { f.Parameters.TerminalExitCodes = []int32{3} }), v1beta2.Failed, "True/FoundFailedPods", 0, 0},
		"an exit code that is not retryable":       {facts(have("Failed", "Running"), unhealthyFor(time.Hour), func(f *Facts) { f.Parameters.RetryableExitCodes = []int32{4} }), v1beta2.Failed, "True/FoundFailedPods", 0, 0},
		"a retryable exit code":                    {facts(have("Failed", "Running"), unhealthyFor(time.Hour), func(f *Facts) { f.Parameters.RetryableExitCodes = []int32{3} }), v1beta2.Resetting, "True/FoundFailedPods", 1, 0},
		"a failed pod that is not needed":          {facts(have("Failed", "Running"), elastic(true)), v1beta2.Running, "False/FoundNoFailedPods", 0, 0},
		"a failed pod of a later stage":            {facts(have("Failed", "Running"), elastic(false), unhealthyFor(time.Minute)), v1beta2.Resetting, "True/FoundFailedPods", 1, 0},
		"a failed pod that leaves too few pods":    {facts(have("Failed"), elastic(false), unhealthyFor(time.Minute)), v1beta2.Resetting, "True/FoundFailedPods", 1, 0},
		"recovered by its own controller":          {facts(have("Failed", "Running"), unhealthyFor(time.Hour), func(f *Facts) { f.Recovering = now.Add(time.Minute) }), v1beta2.Running, "False/RecoveringBelow", 0, time.Minute},
		"recovered while its evacuation waits": {facts(have("Failed", "Running"), func(f *Facts) {
			f.Recovering, f.Evacuation = now.Add(time.Minute), &Evacuation{Held: "busy"}
		}), v1beta2.Running, "True/AutopilotNoExecute", 0, evacuationPoll},
		"a bad node does not wait for a recovery":  {facts(have("Failed", "Running"), func(f *Facts) { f.Recovering, f.Evacuation = now.Add(time.Minute), &Evacuation{} }), v1beta2.Resetting, "True/AutopilotNoExecute", 0, 0},
		"the grace period begins after a recovery": {facts(have("Failed", "Running"), func(f *Facts) { f.Recovering = now }), v1beta2.Running, "True/FoundFailedPods", 0, time.Minute},
		"a failed component cannot recover":        {facts(states(health.Failed), func(f *Facts) { f.Recovering = now.Add(time.Minute) }), v1beta2.Resetting, "True/FailedComponent", 1, 0},
		"the recovery deadline has passed":         {facts(have("Failed", "Running"), unhealthyFor(time.Hour), func(f *Facts) { f.Recovering = now }), v1beta2.Resetting, "True/FoundFailedPods", 1, 0},
		"a signal that has not lasted long enough": {facts(func(f *Facts) { f.HoldDown = now.Add(time.Minute) }), v1beta2.Running, "False/FoundNoFailedPods", 0, time.Minute},
		"suspension takes precedence":              {facts(states(health.Failed), func(f *Facts) { f.Suspend = true }), v1beta2.Suspending, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.facts)
			if d.Next != tc.next || condition(d, v1beta2.Unhealthy) != tc.says || d.Retries != tc.retries || d.After != tc.again {
				t.Errorf("%s, %s, %d resets, again after %s", d.Next, condition(d, v1beta2.Unhealthy), d.Retries, d.After)
			}
			if leaves := d.Next != v1beta2.Running && d.Next != v1beta2.Suspending; leaves != d.Confirm {
				t.Errorf("confirmed: %v", d.Confirm)
			}
		})
	}
}

// An ElasticJob continues with fewer workers. It is healthy below its maximum, but not below its minimum.
func TestElasticJobBelowMaximumIsHealthy(t *testing.T) {
	elastic := func(running int) *Facts {
		phases := slices.Repeat([]corev1.PodPhase{corev1.PodRunning}, running)
		return facts(have(phases...), func(f *Facts) {
			least := int32(2)
			f.Components[0].Pods, f.Components[0].Report.Pods = 4, &least
			f.Ready, f.Clocks.AttemptStart.Time, f.Clocks.NotReadySince.Time = false, f.Now.Add(-time.Hour), f.Now.Add(-time.Hour)
		})
	}
	for name, tc := range map[string]struct {
		running       int
		ready, unwell string
	}{
		"at its maximum":    {4, "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"below its maximum": {3, "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"at its minimum":    {2, "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"below its minimum": {1, "False/InsufficientPodsReady", "True/InsufficientPodsReady"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(elastic(tc.running))
			if got := condition(d, v1beta2.PodsReady); got != tc.ready {
				t.Errorf("PodsReady %s, want %s", got, tc.ready)
			}
			if got := condition(d, v1beta2.Unhealthy); got != tc.unwell {
				t.Errorf("Unhealthy %s, want %s", got, tc.unwell)
			}
		})
	}
}

// B-1: between two waves of a Job, the number of succeeded pods equals the number that should be running, but no pod is
// running.
func TestB1JobBetweenWavesHasNotSucceeded(t *testing.T) {
	if d := Decide(facts(have("Succeeded", "Succeeded"))); d.Next != v1beta2.Running {
		t.Errorf("phase %s", d.Next)
	}
	if d := Decide(facts(have("Succeeded", "Succeeded"), states(health.Complete))); d.Next != v1beta2.Succeeded {
		t.Errorf("a complete Job: phase %s", d.Next)
	}
}

// B-3: the grace periods start again for a pod that is lost an hour after the start.
func TestB3GracePeriodsRestartAfterReadiness(t *testing.T) {
	d := Decide(facts(have("Running")))
	if d.Next != v1beta2.Running || !d.Clocks.NotReadySince.Time.Equal(now) || condition(d, v1beta2.Unhealthy) != "False/FoundNoFailedPods" {
		t.Errorf("%s, %+v", d.Next, d.Conditions)
	}
	d = Decide(facts(have("Running"), func(f *Facts) { f.Ready, f.Clocks.NotReadySince.Time = false, now.Add(-59*time.Second) }))
	if d.After != time.Second {
		t.Errorf("the next reconcile is after %s", d.After)
	}
	if d = Decide(facts(have("Running"), func(f *Facts) { f.Components[0].Report.Pods = new(int32(1)) })); condition(d, v1beta2.PodsReady) != "True/SufficientPodsReady" {
		t.Error("a workload that was scaled down is not ready")
	}
	restarting := func(f *Facts) { f.Components[0].Report.Restarting, f.Ready = true, false }
	if d = Decide(facts(have("Failed", "Running"), restarting, func(f *Facts) { f.Clocks.NotReadySince.Time = now })); condition(d, v1beta2.Unhealthy) != "False/FoundNoFailedPods" {
		t.Error("failed pods of a restarting component count")
	}
}

// B-4, further tested in package pods: a Job that succeeded despite a failed pod counts as succeeded.
func TestB4FailedPodOfCompleteJob(t *testing.T) {
	if d := Decide(facts(have("Failed", "Succeeded"), states(health.Complete))); d.Next != v1beta2.Succeeded {
		t.Errorf("phase %s", d.Next)
	}
}

// B-5: SuccessTTL counts from the success, not from the deployment.
func TestB5SuccessTTLStartsAtSuccess(t *testing.T) {
	p := func(f *Facts) { f.Parameters.SuccessTTL.Duration = time.Minute }
	d := Decide(facts(states(health.Complete), p))
	if d.Next != v1beta2.Succeeded || !d.Clocks.Finished.Time.Equal(now) {
		t.Fatalf("%s at %s", d.Next, d.Clocks.Finished.Time)
	}
	after := facts(p, func(f *Facts) { f.Phase, f.Clocks = v1beta2.Succeeded, d.Clocks })
	if d := Decide(after); d.Do != Nothing || d.After != time.Minute {
		t.Errorf("action %d, again after %s", d.Do, d.After)
	}
	after.Now = now.Add(time.Minute)
	if after.Remains = []Remains{{Name: "Job j"}}; Decide(after).Do != Delete {
		t.Error("nothing is removed after the TTL")
	}
}

// B-6: DeletionOnFailureGracePeriod counts from the failure, even if there was an earlier removal.
func TestB6DeletionPauseStartsAtFailure(t *testing.T) {
	p := func(f *Facts) {
		f.Parameters.DeletionOnFailureGracePeriod.Duration, f.Retries = time.Hour, 3
		f.Clocks.DeletionStart.Time, f.Clocks.DeletionEnd.Time = now.Add(-2*time.Hour), now.Add(-2*time.Hour)
	}
	d := Decide(facts(states(health.Failed), p))
	after := facts(p, func(f *Facts) { f.Phase, f.Clocks, f.Now = v1beta2.Failed, d.Clocks, now.Add(59*time.Minute) })
	if d := Decide(after); d.Do != Nothing || d.After != time.Minute || condition(d, v1beta2.DeletingResources) != "False/DeletionPaused" {
		t.Errorf("action %d, again after %s", d.Do, d.After)
	}
	after.Suspend, after.Remains = true, []Remains{{Name: "Job j"}}
	if d := Decide(after); d.Do != Delete {
		t.Error("suspension does not end the deletion pause")
	}
}

// B-8: the message names what blocks the removal, and the removal continues.
func TestB8MessageNamesWhatBlocksDeletion(t *testing.T) {
	f := facts(func(f *Facts) {
		f.Phase, f.Clocks.DeletionStart.Time = v1beta2.Resetting, now.Add(-time.Hour)
		f.Remains = []Remains{{Name: "Pod a", Pod: true}, {Name: "Pod b", Pod: true}, {Name: "Pod c", Pod: true}, {Name: "Pod d", Pod: true}, {Name: "Job j", Blocked: "finalizer x/y"}}
	})
	d := Decide(f)
	if d.Do != ForcePods || !strings.Contains(d.Conditions[0].Message, "by force: Job j (finalizer x/y), Pod a, Pod b, Pod c, and more") {
		t.Errorf("%d: %s", d.Do, d.Conditions[0].Message)
	}
	f.Remains = f.Remains[4:]
	if d := Decide(f); d.Do != ForceComponents {
		t.Errorf("without pods: %d", d.Do)
	}
}

// B-9: evacuations are counted, and limited if the operator sets a limit.
func TestB9EvacuationLimit(t *testing.T) {
	evacuated := func(f *Facts) { f.Evacuation, f.Evacuations = &Evacuation{Nodes: []string{"n"}}, 2 }
	d := Decide(facts(evacuated))
	if d.Next != v1beta2.Resetting || d.Evacuations != 3 || d.Retries != 0 || !d.Ends.Evacuation || d.Ends.Nodes[0] != "n" {
		t.Errorf("%s, %+v", d.Next, d.Ends)
	}
	if d := Decide(facts(evacuated, func(f *Facts) { f.EvacuationLimit = new(restart.Budget(2)) })); d.Next != v1beta2.Failed {
		t.Errorf("above the limit: phase %s", d.Next)
	}
}

// B-14: each attempt has its own clocks.
func TestB14NewAttemptResetsClocks(t *testing.T) {
	f := facts(func(f *Facts) {
		f.Phase, f.Deployed = v1beta2.Resetting, false
		f.Clocks = v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(now.Add(-time.Hour)), UnhealthySince: metav1.NewMicroTime(now.Add(-time.Hour)), DeletionStart: metav1.NewMicroTime(now.Add(-time.Hour)), DeletionEnd: metav1.NewMicroTime(now.Add(-89 * time.Second))}
	})
	if d := Decide(f); d.Next != v1beta2.Resetting || d.After != time.Second {
		t.Errorf("the pause starts after the removal: phase %s, again after %s", d.Next, d.After)
	}
	f.Now = now.Add(time.Second)
	d := Decide(f)
	if d.Next != v1beta2.Resuming || d.Clocks != (v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(f.Now)}) || condition(d, v1beta2.Unhealthy) != "False/Resuming" {
		t.Errorf("%s, %+v, %s", d.Next, d.Clocks, condition(d, v1beta2.Unhealthy))
	}
	// If creation keeps failing, the full grace period applies again.
	again := facts(func(f *Facts) { f.Phase, f.Clocks = v1beta2.Resuming, d.Clocks })
	if d := AfterCreate(again, Outcome{Err: "not now"}); d.Next != v1beta2.Resuming {
		t.Errorf("%s", d.Next)
	}
	again.Now = d.Clocks.AttemptStart.Time.Add(time.Minute)
	if d := AfterCreate(again, Outcome{Err: "not now"}); d.Next != v1beta2.Resetting || d.Retries != 1 || condition(d, v1beta2.Unhealthy) != "True/CreateFailed" {
		t.Errorf("%s", d.Next)
	}
	if d := AfterCreate(again, Outcome{Err: "never", Fatal: true}); d.Next != v1beta2.Failed {
		t.Errorf("%s", d.Next)
	}
}

// If the components are created an hour after they were announced, because the controller was down, the pods
// still have their full grace periods.
func TestPodGracePeriodsStartAtCreation(t *testing.T) {
	f := facts(have(), func(f *Facts) {
		f.Phase, f.Ready, f.Clocks = v1beta2.Resuming, false, v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(now.Add(-time.Hour))}
	})
	d := AfterCreate(f, Outcome{})
	if d.Next != v1beta2.Running {
		t.Fatalf("phase %s", d.Next)
	}
	f.Phase, f.Clocks, f.Now = d.Next, d.Clocks, now.Add(time.Second)
	if d = Decide(f); d.Next != v1beta2.Running || condition(d, v1beta2.Unhealthy) != "False/FoundNoFailedPods" {
		t.Errorf("phase %s, condition %s", d.Next, condition(d, v1beta2.Unhealthy))
	}
}

// The CRD does not allow null.
func TestClocksThatAreNotSetAreOmitted(t *testing.T) {
	got, err := json.Marshal(&v1beta2.Clocks{Finished: metav1.NewMicroTime(now)})
	if want := `{"finished":"2026-01-02T03:04:05.000000Z"}`; err != nil || string(got) != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
}

// B-15: pods and objects may be removed after the work has completed.
func TestB15SucceededComponentMayBeDeleted(t *testing.T) {
	f := facts(have(), func(f *Facts) {
		f.Components = append(f.Components, f.Components[0])
		f.Components[0].Succeeded, f.Components[0].Presence = true, Absent
	})
	if d := Decide(f); d.Next != v1beta2.Running || condition(d, v1beta2.PodsReady) != "False/InsufficientPodsReady" {
		t.Errorf("phase %s, condition %s", d.Next, condition(d, v1beta2.PodsReady))
	}
	f.Components = f.Components[:1]
	if d := Decide(f); d.Next != v1beta2.Succeeded {
		t.Errorf("with only completed components: phase %s", d.Next)
	}
}

// B-26: a finished AppWrapper can be deleted after a TTL.
func TestB26ObjectTTL(t *testing.T) {
	for _, phase := range []v1beta2.AppWrapperPhase{v1beta2.Succeeded, v1beta2.Failed} {
		f := facts(func(f *Facts) { f.Phase, f.Deployed, f.Clocks.DeletionEnd.Time = phase, false, now.Add(-time.Hour) })
		if d := Decide(f); d.Do != Nothing || d.After != 0 {
			t.Errorf("%s, by default: %d", phase, d.Do)
		}
		if f.Parameters.ObjectTTL.Duration = 2 * time.Hour; Decide(f).After != time.Hour {
			t.Errorf("%s: no reconcile is requested for the TTL", phase)
		}
		if f.Parameters.ObjectTTL.Duration = time.Hour; Decide(f).Do != DeleteObject {
			t.Errorf("%s: the AppWrapper is not deleted", phase)
		}
	}
}

// B-27: resets that happened long ago can be configured not to count.
func TestB27RetryDecay(t *testing.T) {
	f := facts(states(health.Failed), func(f *Facts) { f.Retries, f.ReadyFor = 3, 24*time.Hour })
	if d := Decide(f); d.Next != v1beta2.Failed {
		t.Errorf("by default: phase %s", d.Next)
	}
	f = facts(states(health.Failed), func(f *Facts) { f.Retries, f.ReadyFor, f.Parameters.RetryDecay.Duration = 3, 24*time.Hour, time.Hour })
	if d := Decide(f); d.Next != v1beta2.Resetting || d.Retries != 1 {
		t.Errorf("phase %s, %d resets", d.Next, d.Retries)
	}
}

// Kinds that do not report completion have succeeded once their pods have.
func TestSuccessByPods(t *testing.T) {
	byPods := func(f *Facts) { f.Components[0].Finishes, f.Components[0].Report = false, health.Report{} }
	unlabelled := func(f *Facts) {
		f.Pods.ByComponent = map[int]pods.Count{pods.UnknownComponent: f.Pods.All}
	}
	for name, tc := range map[string]struct {
		facts *Facts
		next  v1beta2.AppWrapperPhase
	}{
		"all have succeeded":              {facts(have("Succeeded", "Succeeded"), byPods), v1beta2.Succeeded},
		"one is running":                  {facts(have("Succeeded", "Running"), byPods), v1beta2.Running},
		"one is missing":                  {facts(have("Succeeded"), byPods), v1beta2.Running},
		"pods of the upstream controller": {facts(have("Succeeded", "Succeeded"), byPods, unlabelled), v1beta2.Succeeded},
		"one of them failed":              {facts(have("Succeeded", "Succeeded", "Failed"), byPods, unlabelled), v1beta2.Running},
		"one of them is pending":          {facts(have("Succeeded", "Succeeded", "Pending"), byPods, unlabelled), v1beta2.Running},
		"no component has pods":           {facts(have(), func(f *Facts) { f.Components[0].Pods = 0 }), v1beta2.Running},
		"a component without pods is ignored": {facts(have("Succeeded", "Succeeded"), byPods, func(f *Facts) {
			f.Components = append(f.Components, Component{Name: "Service s", Created: true, Presence: Present})
		}), v1beta2.Succeeded},
	} {
		if d := Decide(tc.facts); d.Next != tc.next {
			t.Errorf("%s: phase %s", name, d.Next)
		}
	}
}

// Whatever phase the upstream controller left an object in, our controller continues from there.
func TestClocksFromConditions(t *testing.T) {
	then := metav1.NewTime(now.Add(-time.Hour))
	cond := func(kind v1beta2.AppWrapperCondition, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: string(kind), Status: status, LastTransitionTime: then}
	}
	for name, tc := range map[string]struct {
		phase      v1beta2.AppWrapperPhase
		conditions []metav1.Condition
		want       v1beta2.Clocks
	}{
		"running":   {v1beta2.Running, []metav1.Condition{cond(v1beta2.ResourcesDeployed, "True"), cond(v1beta2.Unhealthy, "False")}, v1beta2.Clocks{AttemptStart: metav1.NewMicroTime(then.Time)}},
		"unhealthy": {v1beta2.Running, []metav1.Condition{cond(v1beta2.Unhealthy, "True")}, v1beta2.Clocks{UnhealthySince: metav1.NewMicroTime(then.Time)}},
		"paused":    {v1beta2.Resetting, []metav1.Condition{cond(v1beta2.ResourcesDeployed, "False")}, v1beta2.Clocks{DeletionEnd: metav1.NewMicroTime(then.Time)}},
		"removing":  {v1beta2.Suspending, []metav1.Condition{cond(v1beta2.DeletingResources, "True")}, v1beta2.Clocks{DeletionStart: metav1.NewMicroTime(then.Time)}},
		"succeeded": {v1beta2.Succeeded, []metav1.Condition{cond(v1beta2.QuotaReserved, "False")}, v1beta2.Clocks{Finished: metav1.NewMicroTime(then.Time)}},
		"failed":    {v1beta2.Failed, []metav1.Condition{cond(v1beta2.Unhealthy, "True")}, v1beta2.Clocks{UnhealthySince: metav1.NewMicroTime(then.Time), Finished: metav1.NewMicroTime(then.Time)}},
	} {
		if got := ReadClocks(&v1beta2.AppWrapperStatus{Phase: tc.phase, Conditions: tc.conditions}); got != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A Job with backoffLimit 0 fails before its pod's grace period ends.
func TestTerminalExitCodeOfFailedComponent(t *testing.T) {
	terminal := func(f *Facts) { f.Parameters.TerminalExitCodes = []int32{3} }
	if d := Decide(facts(have("Failed", "Running"), states(health.Failed), terminal)); d.Next != v1beta2.Failed {
		t.Errorf("phase %s", d.Next)
	}
	if d := Decide(facts(have("Failed", "Running"), states(health.Failed))); d.Next != v1beta2.Resetting {
		t.Errorf("without terminal exit codes: phase %s", d.Next)
	}
}

// A Job with a short TTL is deleted soon after it ends.
func TestFinishedComponentIsNotMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		state    health.State
		presence Presence
		next     v1beta2.AppWrapperPhase
		says     string
	}{
		"complete and gone":          {health.Complete, Absent, v1beta2.Succeeded, "False/FoundNoFailedPods"},
		"complete and being deleted": {health.Complete, Terminating, v1beta2.Succeeded, "False/FoundNoFailedPods"},
		"failed and gone":            {health.Failed, Absent, v1beta2.Resetting, "True/FailedComponent"},
		"failed and being deleted":   {health.Failed, Terminating, v1beta2.Resetting, "True/FailedComponent"},
		"gone before it finished":    {health.Unknown, Absent, v1beta2.Failed, "True/MissingComponent"},
	} {
		d := Decide(facts(states(tc.state), func(f *Facts) { f.Components[0].Presence = tc.presence }))
		if d.Next != tc.next || condition(d, v1beta2.Unhealthy) != tc.says {
			t.Errorf("%s: phase %s, condition %s", name, d.Next, condition(d, v1beta2.Unhealthy))
		}
	}
}

// The author of the annotation, or of the template that contains it, can delay a reset by at most
// GracePeriodMaximum.
func TestRecoveryDeadlineIsClipped(t *testing.T) {
	recovers := func(ago time.Duration) *Facts {
		return facts(have("Failed", "Running"), func(f *Facts) {
			f.Ready, f.Clocks.NotReadySince.Time = false, now.Add(-ago)
			f.Recovering, f.Parameters.GracePeriodMaximum.Duration = now.Add(20*time.Hour), 10*time.Minute
		})
	}
	if d := Decide(recovers(9 * time.Minute)); condition(d, v1beta2.Unhealthy) != "False/RecoveringBelow" || d.After != time.Minute {
		t.Errorf("within the maximum: %s, again after %s", condition(d, v1beta2.Unhealthy), d.After)
	}
	if d := Decide(recovers(10 * time.Minute)); condition(d, v1beta2.Unhealthy) != "True/FoundFailedPods" {
		t.Errorf("after it: %s", condition(d, v1beta2.Unhealthy))
	}
}

// A Job with more completions than parallelism runs in waves, and the pods of each wave must be running.
func TestPodsOfEachJobWaveMustRun(t *testing.T) {
	waves := func(progress time.Duration, phases ...corev1.PodPhase) *Facts {
		return facts(have(phases...), func(f *Facts) {
			f.Clocks.AttemptStart.Time, f.Pods.Progress = now.Add(-100*time.Hour), now.Add(-progress)
			f.Components[0].Report.Pods, f.Components[0].Report.Active = ptr.To[int32](2), ptr.To[int32](2)
		})
	}
	for name, tc := range map[string]struct {
		facts *Facts
		says  string
		again time.Duration
	}{
		"the second wave is running":         {waves(time.Hour, "Succeeded", "Succeeded", "Running", "Running"), "False/FoundNoFailedPods", 0},
		"the second wave begins":             {waves(time.Minute, "Succeeded", "Succeeded", "Pending", "Pending"), "False/FoundNoFailedPods", 4 * time.Minute},
		"one pod of the wave does not start": {waves(5*time.Minute, "Succeeded", "Succeeded", "Running", "Pending"), "True/InsufficientPodsReady", time.Minute},
		"no pod has started for 100 hours":   {waves(100*time.Hour, "Succeeded", "Succeeded", "Pending", "Pending"), "True/InsufficientPodsReady", time.Minute},
	} {
		if d := Decide(tc.facts); condition(d, v1beta2.Unhealthy) != tc.says || d.After != tc.again {
			t.Errorf("%s: %s, again after %s", name, condition(d, v1beta2.Unhealthy), d.After)
		}
	}
}

// The pod garbage collector deletes succeeded pods when there are many. The Job status still counts them.
func TestSucceededPodsMayBeDeleted(t *testing.T) {
	job := func(parallelism, completions, succeeded int64, ago time.Duration, phases ...corev1.PodPhase) *Facts {
		return facts(have(phases...), func(f *Facts) {
			o := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "batch/v1", "kind": "Job",
				"spec": map[string]any{"parallelism": parallelism, "completions": completions}, "status": map[string]any{"succeeded": succeeded},
			}}
			f.Components[0].Report, f.Components[0].Pods, f.Pods.Progress = health.Of(o), int32(parallelism), now
			f.Clocks.AttemptStart.Time, f.Clocks.NotReadySince.Time = now.Add(-100*time.Hour), time.Time{}
			f.Ready = ago == 0
			if !f.Ready {
				f.Clocks.NotReadySince.Time = now.Add(-ago)
			}
		})
	}
	for name, tc := range map[string]struct {
		facts         *Facts
		ready, unwell string
	}{
		"the last wave is smaller":             {job(4, 6, 4, 0, "Running", "Running"), "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"some succeeded pods still exist":      {job(4, 6, 5, 0, "Succeeded", "Running"), "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"the last pods of a Job without waves": {job(4, 4, 3, 0, "Running"), "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"a pod of the last wave is missing":    {job(4, 4, 2, 10*time.Minute, "Running"), "False/InsufficientPodsReady", "True/InsufficientPodsReady"},
		"pods without the component label": {func() *Facts {
			f := job(4, 6, 4, 0, "Running", "Running")
			f.Pods.ByComponent = map[int]pods.Count{pods.UnknownComponent: f.Pods.All}
			return f
		}(), "True/SufficientPodsReady", "False/FoundNoFailedPods"},
		"a succeeded pod is not counted yet": {job(4, 4, 2, 0, "Succeeded", "Succeeded", "Succeeded", "Running"), "True/SufficientPodsReady", "False/FoundNoFailedPods"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.facts)
			if ready, unwell := condition(d, v1beta2.PodsReady), condition(d, v1beta2.Unhealthy); ready != tc.ready || unwell != tc.unwell {
				t.Errorf("PodsReady %s, Unhealthy %s", ready, unwell)
			}
		})
	}
}

// Pods that become ready one by one do not change the status until the last one is ready.
func TestReadyPodsChangeNoMessage(t *testing.T) {
	wrote := func(ready int) []metav1.Condition {
		phases := []corev1.PodPhase{"Pending", "Pending", "Pending", "Pending"}
		for i := range ready {
			phases[i] = "Running"
		}
		return Decide(facts(have(phases...), func(f *Facts) {
			f.Ready, f.Clocks.AttemptStart.Time, f.Components[0].Pods = false, now.Add(-time.Second), 4
		})).Conditions
	}
	for ready := 1; ready < 4; ready++ {
		if diff := cmp.Diff(wrote(0), wrote(ready)); diff != "" {
			t.Errorf("with %d of 4 ready: %s", ready, diff)
		}
	}
}
