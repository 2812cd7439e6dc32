package signals

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

var (
	start  = time.Unix(1000, 0)
	wantsG = map[corev1.ResourceName]bool{gpu: true}
)

func node(changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}}}
	for _, change := range changes {
		change(n)
	}
	return n
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions = []corev1.NodeCondition{{Type: kind, Status: status}} }
}

func taint(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Value: value, Effect: effect}} }
}

func TestSources(t *testing.T) {
	health := &Label{Key: "health", Values: []string{"EVICT", "ERR"}}
	for name, tc := range map[string]struct {
		signal Signal
		node   *corev1.Node
		want   bool
	}{
		"a label":                             {Signal{Label: health}, node(label("health", "ERR")), true},
		"a different value":                   {Signal{Label: health}, node(label("health", "PASS")), false},
		"no label":                            {Signal{Label: health}, node(), false},
		"a taint":                             {Signal{Taint: &corev1.Taint{Key: "out-of-service"}}, node(taint("out-of-service", "x", corev1.TaintEffectNoExecute)), true},
		"a taint with a different value":      {Signal{Taint: &corev1.Taint{Key: "a", Value: "b"}}, node(taint("a", "x", corev1.TaintEffectNoExecute)), false},
		"a taint with a different effect":     {Signal{Taint: &corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoExecute}}, node(taint("a", "", corev1.TaintEffectNoSchedule)), false},
		"a condition that is bad when True":   {Signal{Condition: &corev1.NodeCondition{Type: "XIDErrors", Status: corev1.ConditionTrue}}, node(condition("XIDErrors", corev1.ConditionTrue)), true},
		"a condition that is good when False": {Signal{Condition: &corev1.NodeCondition{Type: "XIDErrors", Status: corev1.ConditionTrue}}, node(condition("XIDErrors", corev1.ConditionFalse)), false},
		"a condition that is bad when False":  {Signal{Condition: &corev1.NodeCondition{Type: "KernelReady", Status: corev1.ConditionFalse}}, node(condition("KernelReady", corev1.ConditionFalse)), true},
		"the device health of a pod":          {Signal{PodResourceHealth: true}, node(label("health", "ERR")), false},
		"a condition that is not reported":    {Signal{Condition: &corev1.NodeCondition{Type: "KernelReady", Status: corev1.ConditionFalse}}, node(), false},
	} {
		if _, got := tc.signal.since(tc.node); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A restart of the controller changes nothing, because the result depends only on the node.
func TestHoldDownStartsAtTransition(t *testing.T) {
	table := Table{{Name: "s", Condition: &corev1.NodeCondition{Type: "Bad", Status: corev1.ConditionTrue}, Resources: []corev1.ResourceName{gpu}, Effect: Evacuate, HoldDown: metav1.Duration{Duration: time.Minute}}}
	bad := node(condition("Bad", corev1.ConditionTrue))
	bad.Status.Conditions[0].LastTransitionTime = metav1.NewTime(start)
	for name, tc := range map[string]struct {
		node     *corev1.Node
		requests map[corev1.ResourceName]bool
		at       time.Duration
		bad      bool
		next     time.Time
	}{
		"at the transition":               {bad, wantsG, 0, false, start.Add(time.Minute)},
		"before the end of the hold-down": {bad, wantsG, 59 * time.Second, false, start.Add(time.Minute)},
		"after the hold-down":             {bad, wantsG, time.Minute, true, time.Time{}},
		"other pods":                      {bad, nil, time.Minute, false, time.Time{}},
		"the condition is absent":         {node(), wantsG, time.Minute, false, time.Time{}},
	} {
		found, next := table.Bad(tc.node, tc.requests, start.Add(tc.at))
		if (found != nil) != tc.bad || !next.Equal(tc.next) {
			t.Errorf("%s: bad %v, next at %s", name, found != nil, next)
		}
	}
}

func TestConcerns(t *testing.T) {
	s := Signal{Resources: []corev1.ResourceName{gpu}}
	if s.Concerns(nil) || !s.Concerns(wantsG) || s.Concerns(map[corev1.ResourceName]bool{"cpu": true}) {
		t.Error("the signal must apply exactly to the pods that request the resource")
	}
	if !(Signal{}).Concerns(nil) {
		t.Error("a signal without resources must apply to all pods")
	}
}

func TestAvoids(t *testing.T) {
	table := Table{
		{Label: &Label{Key: "h", Values: []string{"x"}}, Effect: Evacuate},
		{Condition: &corev1.NodeCondition{Type: "Bad", Status: corev1.ConditionTrue}, Effect: Avoid},
		{Taint: &corev1.Taint{Key: "slow"}, Effect: SoftAvoid},
	}
	for name, tc := range map[string]struct {
		node       *corev1.Node
		hard, soft bool
	}{
		"a label, which the affinity covers": {node(label("h", "x")), false, false},
		"a condition":                        {node(condition("Bad", corev1.ConditionTrue)), true, false},
		"a taint with SoftAvoid":             {node(taint("slow", "", "")), false, true},
		"a good node":                        {node(), false, false},
	} {
		if hard, soft := table.Avoids(tc.node, nil, false, start), table.Avoids(tc.node, nil, true, start); hard != tc.hard || soft != tc.soft {
			t.Errorf("%s: must avoid %v, should avoid %v", name, hard, soft)
		}
	}
}

func TestUnhealthyDevices(t *testing.T) {
	status := func(name corev1.ResourceName, health corev1.ResourceHealthStatus) *corev1.PodStatus {
		return &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{AllocatedResourcesStatus: []corev1.ResourceStatus{{
			Name: name, Resources: []corev1.ResourceHealth{{ResourceID: "0", Health: health}}}}}}}
	}
	table := Table{{Name: "devices", PodResourceHealth: true, Resources: []corev1.ResourceName{gpu}, Effect: Evacuate}}
	for name, tc := range map[string]struct {
		status *corev1.PodStatus
		want   bool
	}{
		"healthy":            {status(gpu, corev1.ResourceHealthStatusHealthy), false},
		"unhealthy":          {status(gpu, corev1.ResourceHealthStatusUnhealthy), true},
		"unknown":            {status(gpu, corev1.ResourceHealthStatusUnknown), false},
		"a different device": {status("example.com/nic", corev1.ResourceHealthStatusUnhealthy), false},
		"no device status":   {&corev1.PodStatus{}, false},
	} {
		if got := table.Unhealthy(tc.status) != nil; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestInvalidSignals(t *testing.T) {
	for want, s := range map[string]Signal{
		"0 of label":            {Effect: Avoid},
		"2 of label":            {Effect: Avoid, Taint: &corev1.Taint{Key: "a"}, PodResourceHealth: true},
		"label: key and values": {Effect: Avoid, Label: &Label{Key: "a"}},
		"taint: key":            {Effect: Avoid, Taint: &corev1.Taint{}},
		"condition: type":       {Effect: Avoid, Condition: &corev1.NodeCondition{Type: "a"}},
		`effect: must be Avoid, SoftAvoid or Evacuate, not "Maybe"`: {Effect: "Maybe", Taint: &corev1.Taint{Key: "a"}},
		"holdDown: must not":        {Effect: Avoid, Taint: &corev1.Taint{Key: "a"}, HoldDown: metav1.Duration{Duration: -1}},
		"holdDown: may be set only": {Effect: Avoid, Taint: &corev1.Taint{Key: "a"}, HoldDown: metav1.Duration{Duration: 1}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
