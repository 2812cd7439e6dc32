package policy

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// rejected returns the status of a pod that was rejected by its kubelet. It has only a phase, a reason and a
// message.
func rejected(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message}
}

func TestDisruption(t *testing.T) {
	target := func(reason string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason}}}
	}
	for name, tc := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"nothing":                         {corev1.PodStatus{Phase: corev1.PodFailed}, ""},
		"preempted":                       {target("PreemptionByScheduler"), "it was disrupted: PreemptionByScheduler"},
		"evicted through the API":         {target("EvictionByEvictionAPI"), "it was disrupted: EvictionByEvictionAPI"},
		"a taint":                         {target("DeletionByTaintManager"), "it was disrupted: DeletionByTaintManager"},
		"evicted by its kubelet":          {target("TerminationByKubelet"), "it was disrupted: TerminationByKubelet"},
		"evicted for exceeding its limit": {rejected("Evicted", `Usage of EmptyDir volume "x" exceeds the limit "1Mi". `), ""},
		"no device":                       {rejected("OutOfnvidia.com/gpu", ""), "its node rejected it"},
		"no capacity on a NUMA node":      {rejected("TopologyAffinityError", ""), "its node rejected it"},
		"a port that is in use":           {rejected("NodePorts", ""), "its node rejected it"},
		"an unknown rejection":            {rejected("SomethingNew", "Pod was rejected: no"), "its node rejected it"},
		"its own deadline":                {rejected("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"), ""},
		"its program failed": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "SomethingNew", ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}}, ""},
		"its node is shutting down":      {rejected("NodeShutdown", ""), "its node rejected it"},
		"its node rejected it":           {rejected("UnexpectedAdmissionError", ""), "its node rejected it"},
		"a reason that is no disruption": {corev1.PodStatus{Reason: "Error"}, ""},
		"a condition that is False":      {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse}}}, ""},
	} {
		if got := Observe(&corev1.Pod{Status: tc.status}, nil, time.Minute, noon).Disruption; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestNodeState(t *testing.T) {
	node := func(change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		change(n)
		return n
	}
	unready := func(status corev1.ConditionStatus, ago time.Duration) *corev1.Node {
		return node(func(n *corev1.Node) {
			n.Status.Conditions[0].Status, n.Status.Conditions[0].LastTransitionTime = status, metav1.NewTime(noon.Add(-ago))
		})
	}
	tainted := func(key string, effect corev1.TaintEffect) *corev1.Node {
		return node(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} })
	}
	unreadyAndTainted := unready(corev1.ConditionUnknown, time.Minute)
	unreadyAndTainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
	plain := corev1.PodSpec{}
	tolerating := func(key string, seconds *int64) corev1.PodSpec {
		return corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}}}
	}
	for name, tc := range map[string]struct {
		node  *corev1.Node
		bound bool
		want  NodeState
		soon  time.Duration
		pod   corev1.PodSpec
	}{
		"no node yet":              {nil, false, NodeOK, 0, plain},
		"deleted":                  {nil, true, NodeLost, 0, plain},
		"ready":                    {node(func(*corev1.Node) {}), true, NodeOK, 0, plain},
		"cordoned":                 {node(func(n *corev1.Node) { n.Spec.Unschedulable = true }), true, NodeDraining, 0, plain},
		"not ready for a while":    {unready(corev1.ConditionFalse, 40*time.Second), true, NodeOK, 20 * time.Second, plain},
		"unreachable for too long": {unready(corev1.ConditionUnknown, time.Minute), true, NodeLost, 0, plain},
		"out of service":           {tainted(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute), true, NodeLost, 0, plain},
		"an autoscaler's taint":    {tainted("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule), true, NodeDraining, 0, plain},
		"a taint that evicts":      {tainted("karpenter.sh/disrupted", corev1.TaintEffectNoExecute), true, NodeDraining, 0, plain},
		"a PreferNoSchedule taint": {
			tainted("DeletionCandidateOfClusterAutoscaler", corev1.TaintEffectPreferNoSchedule), true, NodeOK, 0, plain,
		},
		"a taint that the pod tolerates": {tainted("nvidia.com/gpu", corev1.TaintEffectNoSchedule), true, NodeOK, 0, tolerating("nvidia.com/gpu", nil)},
		"a taint that the pod does not tolerate": {
			tainted("holdfast.dev/pods-fail-here", corev1.TaintEffectNoSchedule), true, NodeDraining, 0, tolerating("nvidia.com/gpu", nil),
		},
		"a taint that the pod tolerates for a while": {
			tainted(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), true, NodeDraining, 0, tolerating(corev1.TaintNodeNotReady, ptr.To(int64(300))),
		},
		"a taint of a lost node":             {unreadyAndTainted, true, NodeLost, 0, plain},
		"a pod without a node has no taints": {tainted("a", corev1.TaintEffectNoSchedule), false, NodeOK, 0, plain},
	} {
		pod := &corev1.Pod{Spec: tc.pod}
		if tc.bound {
			pod.Spec.NodeName = "n"
		}
		got := Observe(pod, tc.node, time.Minute, noon)
		if got.Node != tc.want {
			t.Errorf("%s: %d, want %d", name, got.Node, tc.want)
		}
		if tc.soon > 0 && got.LostAt.Sub(noon) != tc.soon {
			t.Errorf("%s: lost in %s, want %s", name, got.LostAt.Sub(noon), tc.soon)
		}
	}
}

func TestExitCodeIsThatOfTheFailedContainer(t *testing.T) {
	ended := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, RestartCount: 2, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}}}
	}
	pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("sidecar", 0), ended("torchelasticworker", 9)}}}
	if p := Observe(pod, nil, time.Minute, noon); p.ExitCode != 9 || p.Restarts != 4 {
		t.Errorf("code %d, restarts %d", p.ExitCode, p.Restarts)
	}
	if p := Observe(&corev1.Pod{}, nil, time.Minute, noon); p.ExitCode != -1 {
		t.Errorf("exit code %d without a failed container", p.ExitCode)
	}
}
