package signals_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func pod() *pods.Pod { return pods.Make("p", noon.Add(-time.Hour)) }

// everything returns the catalogue with all rows enabled.
func everything() signals.Table {
	table := signals.Default()
	for i := range table {
		table[i].Trigger = signals.Always
	}
	return table
}

func rows(matches []signals.Match) []string {
	var names []string
	for _, m := range matches {
		names = append(names, m.Row.Name)
	}
	return names
}

func rejected(reason string) *pods.Pod {
	return pod().Rejected(reason, "Pod was rejected: whatever")
}

func waiting(reason string) *pods.Pod { return pod().Pending().Waiting(reason, 0) }

func disrupted(reason string) *pods.Pod {
	return pod().Condition(corev1.DisruptionTarget, corev1.ConditionTrue, reason, noon)
}

// There is one case for every reason of every row. Only the first matching row is checked.
func TestEveryReasonMatchesItsSignal(t *testing.T) {
	covered := map[string]bool{}
	for reason, c := range map[string]struct {
		pod *pods.Pod
		row string
	}{
		"UnexpectedAdmissionError":             {rejected("UnexpectedAdmissionError"), "AdmissionError"},
		"TopologyAffinityError":                {rejected("TopologyAffinityError"), "TopologyAffinity"},
		"SMTAlignmentError":                    {rejected("SMTAlignmentError"), "SMTAlignment"},
		"EmptyPodSharedPoolError":              {rejected("EmptyPodSharedPoolError"), "EmptySharedPool"},
		"OutOfcpu":                             {rejected("OutOfcpu"), "OutOfResource"},
		"OutOfmemory":                          {rejected("OutOfmemory"), "OutOfResource"},
		"OutOfephemeral-storage":               {rejected("OutOfephemeral-storage"), "OutOfResource"},
		"OutOfpods":                            {rejected("OutOfpods"), "OutOfResource"},
		"OutOfnvidia.com/gpu":                  {rejected("OutOfnvidia.com/gpu"), "OutOfExtendedResource"},
		"NodeAffinity":                         {rejected("NodeAffinity"), "NodeMismatch"},
		"NodeName":                             {rejected("NodeName"), "NodeMismatch"},
		"NodePorts":                            {rejected("NodePorts"), "NodeMismatch"},
		"TaintToleration":                      {rejected("TaintToleration"), "NodeMismatch"},
		"PodOSSelectorNodeLabelDoesNotMatch":   {rejected("PodOSSelectorNodeLabelDoesNotMatch"), "NodeFeature"},
		"PodOSNotSupported":                    {rejected("PodOSNotSupported"), "NodeFeature"},
		"SupplementalGroupsPolicyNotSupported": {rejected("SupplementalGroupsPolicyNotSupported"), "NodeFeature"},
		"PodLevelResourcesNotSupported":        {rejected("PodLevelResourcesNotSupported"), "NodeFeature"},
		"PodFeatureUnsupported":                {rejected("PodFeatureUnsupported"), "NodeFeature"},
		"AppArmor":                             {rejected("AppArmor"), "NodeFeature"},
		"SysctlForbidden":                      {rejected("SysctlForbidden"), "NodeFeature"},
		"InitContainerRestartPolicyForbidden":  {rejected("InitContainerRestartPolicyForbidden"), "NodeFeature"},
		"InvalidNodeInfo":                      {rejected("InvalidNodeInfo"), "AdmissionInternal"},
		"UnknownReason":                        {rejected("UnknownReason"), "AdmissionInternal"},
		"UnexpectedPredicateFailureType":       {rejected("UnexpectedPredicateFailureType"), "AdmissionInternal"},
		"VolumeAttachmentLimitExceeded":        {rejected("VolumeAttachmentLimitExceeded"), "VolumeLimit"},
		"NodeShutdown":                         {rejected("NodeShutdown"), "NodeShutdown"},
		"Evicted: node pressure":               {pod().Rejected("Evicted", "The node was low on resource: memory. "), "NodePressure"},
		"Evicted: node condition":              {pod().Rejected("Evicted", "The node had condition: [DiskPressure]. "), "NodePressure"},
		"Evicted: its own volume":              {pod().Rejected("Evicted", `Usage of EmptyDir volume "x" exceeds the limit "1Mi". `), "OwnStorageLimit"},
		"Evicted: its own containers":          {pod().Rejected("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "), "OwnStorageLimit"},
		"Terminated by a shutdown":             {pod().Rejected("Terminated", "Pod was terminated in response to imminent node shutdown."), "GracefulShutdown"},
		"Preempting":                           {pod().Rejected("Preempting", "Preempted in order to admit critical pod"), "KubeletPreemption"},
		"DeadlineExceeded":                     {pod().Rejected("DeadlineExceeded", "too late"), "DeadlineExceeded"},
		"PreemptionByScheduler":                {disrupted("PreemptionByScheduler"), "Disrupted"},
		"DeletionByTaintManager":               {disrupted("DeletionByTaintManager"), "Disrupted"},
		"DeletionByPodGC":                      {disrupted("DeletionByPodGC"), "Disrupted"},
		"EvictionByEvictionAPI":                {disrupted("EvictionByEvictionAPI"), "Disrupted"},
		"DeletionByDeviceTaintManager":         {disrupted("DeletionByDeviceTaintManager"), "DeviceTaint"},
		"TerminationByKubelet":                 {disrupted("TerminationByKubelet"), "TerminatedByKubelet"},
		"ContainerStatusUnknown":               {pod().Terminated("ContainerStatusUnknown", 137, noon), "ContainerLost"},
		"OOMKilled in a loop":                  {pod().Loops("OOMKilled", 137, 2, noon), "OOMKilled"},
		"OOMKilled, pod failed": {pod().Terminated("OOMKilled", 137, noon).Change(func(p *corev1.Pod) {
			p.Spec.RestartPolicy, p.Status.Phase = corev1.RestartPolicyNever, corev1.PodFailed
		}), "OOMKilled"},
		"crash loop":                        {pod().Loops("Error", 1, 5, noon), "CrashLoopBackOff"},
		"CreateContainerConfigError":        {waiting("CreateContainerConfigError"), "ConfigError"},
		"InvalidImageName":                  {waiting("InvalidImageName"), "ConfigError"},
		"CreateContainerError":              {waiting("CreateContainerError"), "RuntimeError"},
		"RunContainerError":                 {waiting("RunContainerError"), "RuntimeError"},
		"StartError":                        {pod().Terminated("StartError", 128, noon), "RuntimeError"},
		"ContainerCannotRun":                {pod().Terminated("ContainerCannotRun", 127, noon), "RuntimeError"},
		"PreCreateHookError":                {waiting("PreCreateHookError"), "RuntimeError"},
		"PreStartHookError":                 {waiting("PreStartHookError"), "RuntimeError"},
		"CreatePodSandboxError":             {waiting("CreatePodSandboxError"), "RuntimeError"},
		"KillPodSandboxError":               {waiting("KillPodSandboxError"), "RuntimeError"},
		"ConfigPodSandboxError":             {waiting("ConfigPodSandboxError"), "RuntimeError"},
		"PostStartHookError":                {waiting("PostStartHookError"), "PostStartHook"},
		"Error with an exit code":           {pod().Terminated("Error", 3, noon), "ExitCode"},
		"no sandbox":                        {pod().Pending().Condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, "", noon), "SandboxNotReady"},
		"unhealthy device":                  {pod().Change(sick), "DeviceUnhealthy"},
		"worker that is restarted in place": {pod().Again("Error", 1, 3, noon).Change(member), "FailsInPlace"},
	} {
		t.Run(reason, func(t *testing.T) {
			matches := everything().Matches(c.pod.Obj(), noon)
			if len(matches) == 0 || matches[0].Row.Name != c.row {
				t.Fatalf("matches %v, want %s first", rows(matches), c.row)
			}
			if !matches[0].Down {
				t.Error("it is not down")
			}
		})
		covered[c.row] = true
	}
	for _, row := range signals.Default() {
		if !covered[row.Name] {
			t.Errorf("no case covers row %s", row.Name)
		}
	}
}

func sick(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResourcesStatus: []corev1.ResourceStatus{{
		Name: "nvidia.com/gpu", Resources: []corev1.ResourceHealth{{ResourceID: "0", Health: corev1.ResourceHealthStatusUnhealthy}},
	}}}}
}

func member(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{Name: "agent", Env: []corev1.EnvVar{{Name: "JOBSET_UID"}}}}
}

func TestGroupMembersAreRecognizedByAgent(t *testing.T) {
	for name, c := range map[string]struct {
		container corev1.Container
		want      bool
	}{
		"the sidecar's variable":        {corev1.Container{Env: []corev1.EnvVar{{Name: "JOBSET_UID", Value: "u"}}}, true},
		"the sidecar's flag":            {corev1.Container{Args: []string{"--worker-jobset-uid=u"}}, true},
		"the supervisor":                {corev1.Container{Command: []string{"/holdfast/holdfast-exec", "--", "python"}}, true},
		"the supervisor behind a shell": {corev1.Container{Command: []string{"sh", "-c"}, Args: []string{"holdfast-exec"}}, true},
		"another container":             {corev1.Container{Command: []string{"python"}, Env: []corev1.EnvVar{{Name: "A"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod().Change(func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{c.container} }).Obj()
			if got := signals.InPlace(p); got != c.want {
				t.Errorf("got %t", got)
			}
			p.Spec.Containers[0] = signals.Marks(c.container)
			if got := signals.InPlace(p); got != c.want {
				t.Errorf("for the stripped pod, got %t", got)
			}
		})
	}
}

func TestHealthyPodsMatchNothing(t *testing.T) {
	for name, p := range map[string]*pods.Pod{
		"running pod":                               pod(),
		"succeeded pod":                             pod().Terminated("Completed", 0, noon),
		"pod that restarted once":                   pod().Again("Error", 1, 1, noon.Add(-time.Minute)),
		"container that is being created":           pod().Pending().Waiting("ContainerCreating", 0),
		"ready sandbox":                             pod().Pending().Condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, "", noon),
		"pod without node and sandbox":              pod().Pending().On("").Condition(corev1.PodReadyToStartContainers, corev1.ConditionFalse, "", noon),
		"reason of a running pod":                   pod().Change(func(p *corev1.Pod) { p.Status.Reason = "UnexpectedAdmissionError" }),
		"disruption that ended":                     pod().Condition(corev1.DisruptionTarget, corev1.ConditionFalse, "TerminationByKubelet", noon),
		"loop that ended long ago":                  pod().Again("OOMKilled", 137, 9, noon.Add(-10*time.Minute)),
		"worker stopped for a restart of its group": pod().Again("Error", 143, 3, noon.Add(-time.Hour)).Change(member),
		"worker killed for a restart of its group":  pod().Again("Error", 137, 3, noon.Add(-time.Hour)).Change(member),
		"restarted pod that succeeded":              pod().Again("Error", 1, 3, noon).Change(member).Change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		"first failure of a worker of a group":      pod().Again("Error", 1, 1, noon.Add(-time.Hour)).Change(member),
		"unknown device": pod().Change(sick).Change(func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].AllocatedResourcesStatus[0].Resources[0].Health = "Unknown"
		}),
		"unknown reason":                     rejected("SomethingNew"),
		"failed pod without a reason":        rejected(""),
		"pod that was OOM-killed once":       pod().Loops("OOMKilled", 137, 1, noon),
		"a container that exits 0 in a loop": pod().Loops("Completed", 0, 9, noon),
		"container with an empty reason":     pod().Terminated("", 0, noon),
	} {
		t.Run(name, func(t *testing.T) {
			if found := everything().Matches(p.Obj(), noon); len(found) > 0 {
				t.Errorf("matches %v", rows(found))
			}
		})
	}
}

func TestDisabledSignalsMatchNothing(t *testing.T) {
	for _, name := range []string{"DeviceUnhealthy", "ExitCode"} {
		table := signals.Default()
		i := slices.IndexFunc(table, func(r signals.Row) bool { return r.Name == name })
		if i < 0 || table[i].Trigger != signals.Off {
			t.Errorf("%s is on by default", name)
		}
	}
	if found := signals.Default().Matches(pod().Terminated("Error", 3, noon).Obj(), noon); len(found) > 0 {
		t.Errorf("matches %v", rows(found))
	}
}

func TestOwnerEnablesLoops(t *testing.T) {
	for _, row := range signals.Default() {
		want := slices.Contains([]string{"OOMKilled", "CrashLoopBackOff", "PostStartHook"}, row.Name)
		if (row.Trigger == signals.Annotated) != want {
			t.Errorf("%s has the trigger %s", row.Name, row.Trigger)
		}
	}
}

func TestDisruptionsAreNotCharged(t *testing.T) {
	for _, row := range signals.Default() {
		free := slices.Contains([]string{
			"NodeShutdown", "NodePressure", "GracefulShutdown", "KubeletPreemption", "DeviceTaint", "TerminatedByKubelet", "FailsInPlace",
		}, row.Name)
		if row.Action != signals.Never && row.Charged == free {
			t.Errorf("%s is charged: %t", row.Name, row.Charged)
		}
	}
}

// A pod in a crash loop runs for a short time between two failures. It still matches, but must not be moved at that moment.
func TestLoopMatchesWhileContainerRuns(t *testing.T) {
	found := everything().Matches(pod().Again("OOMKilled", 137, 3, noon.Add(-time.Minute)).Obj(), noon)
	if len(found) == 0 || found[0].Row.Name != "OOMKilled" || found[0].Down {
		t.Errorf("got %+v", found)
	}
}

// If a container fails its liveness probe, the kubelet kills and restarts it in one sync, so the status never shows that the container is
// down.
func TestLoopIsDownAfterEachFailure(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *pods.Pod
		down bool
	}{
		"failed a second ago":                        {pod().Again("Error", 137, 5, noon.Add(-time.Second)), true},
		"clock of the node is ahead":                 {pod().Again("Error", 137, 5, noon.Add(time.Second)), true},
		"running for ten seconds":                    {pod().Again("Error", 137, 5, noon.Add(-10*time.Second)), false},
		"restarted in place by its group":            {pod().Again("Error", 137, 5, noon.Add(-time.Second)).Change(member), false},
		"last failure exceeded its own memory limit": {pod().Again("OOMKilled", 137, 5, noon.Add(-time.Second)), true},
	} {
		t.Run(name, func(t *testing.T) {
			found := loops(everything()).Matches(c.pod.Obj(), noon)
			if len(found) == 0 || found[0].Down != c.down {
				t.Errorf("got %+v, want down: %t", found, c.down)
			}
		})
	}
	if found := loops(everything()).Matches(pod().Again("Error", 137, 4, noon).Obj(), noon); len(found) != 0 {
		t.Errorf("a container that has not failed often enough matches %v", rows(found))
	}
}

// loops returns the rows of a table that match crash loops.
func loops(table signals.Table) signals.Table {
	return slices.DeleteFunc(table, func(r signals.Row) bool { return r.Where != signals.Loop })
}

// A failed pod whose container was lost may remain for days, and this program reconciles it again after each of its own restarts.
func TestLostContainerHasFailureTimeOfPod(t *testing.T) {
	lost := rejected("").Terminated("ContainerStatusUnknown", 137, time.Time{}).Condition(corev1.PodReady, corev1.ConditionFalse, "PodFailed", noon.Add(-time.Minute))
	found := signals.Default().Matches(lost.Obj(), noon)
	if len(found) != 1 || !found[0].Since.Equal(noon.Add(-time.Minute)) {
		t.Errorf("got %+v", found)
	}
}

func TestOOMKilledGroupWorkerFailsInPlace(t *testing.T) {
	found := signals.Default().Matches(pod().Again("OOMKilled", 137, 3, noon.Add(-time.Hour)).Change(member).Obj(), noon)
	if len(found) != 1 || found[0].Row.Name != "FailsInPlace" {
		t.Errorf("got %+v", found)
	}
}

func TestExitCodesAreConfigurable(t *testing.T) {
	table := everything()
	i := slices.IndexFunc(table, func(r signals.Row) bool { return r.Name == "ExitCode" })
	table[i].ExitCodes = []int32{42}
	if found := table.Matches(pod().Terminated("Error", 3, noon).Obj(), noon); len(found) > 0 {
		t.Errorf("code 3 matches %v", rows(found))
	}
	if found := table.Matches(pod().Terminated("Error", 42, noon).Obj(), noon); len(found) != 1 {
		t.Errorf("code 42 matches %v", rows(found))
	}
}

// For a failed pod, the webhook uses the matches that depend neither on elapsed time nor on siblings.
func TestInstantMatches(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *pods.Pod
		want string
	}{
		"rejected pod":           {rejected("TopologyAffinityError"), "TopologyAffinity"},
		"node pressure":          {pod().Rejected("Evicted", "The node was low on resource: memory. "), "NodePressure"},
		"own memory limit":       {pod().Rejected("Evicted", "Container c exceeded its local ephemeral storage limit"), ""},
		"exceeded deadline":      {rejected("DeadlineExceeded"), ""},
		"loop, which takes time": {pod().Loops("OOMKilled", 137, 3, noon), ""},
		"requested eviction":     {disrupted("EvictionByEvictionAPI").Rejected("UnexpectedAdmissionError", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, found := signals.Default().Instant(c.pod.Obj(), noon)
			if m.Row.Name != c.want || found != (c.want != "") {
				t.Errorf("got %q, %t", m.Row.Name, found)
			}
		})
	}
}

func TestFailureTime(t *testing.T) {
	created, start, end := noon.Add(-time.Hour), noon.Add(-time.Hour), noon.Add(-time.Minute)
	for name, c := range map[string]struct {
		pod  *pods.Pod
		want time.Time
	}{
		"end of its last container": {rejected("x").Terminated("Error", 1, end.Add(-time.Minute)).Terminated("Error", 1, end), end},
		"disruption":                {rejected("x").Condition(corev1.DisruptionTarget, corev1.ConditionTrue, "", end), end},
		"readiness, if the states of its containers are unknown": {
			rejected("x").Terminated("ContainerStatusUnknown", 137, time.Time{}).Condition(corev1.PodReady, corev1.ConditionFalse, "PodFailed", end), end},
		"start, if it was rejected": {rejected("x"), start},
		"creation":                  {rejected("x").Change(func(p *corev1.Pod) { p.Status.StartTime = nil }), created},
	} {
		t.Run(name, func(t *testing.T) {
			if got := signals.FailedAt(c.pod.Obj()); !got.Equal(c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
