package signals

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		"a label":                              {Signal{Label: health}, node(label("health", "ERR")), true},
		"another value":                        {Signal{Label: health}, node(label("health", "PASS")), false},
		"no label":                             {Signal{Label: health}, node(), false},
		"a taint":                              {Signal{Taint: &Taint{Key: "out-of-service"}}, node(taint("out-of-service", "x", corev1.TaintEffectNoExecute)), true},
		"a taint of another value":             {Signal{Taint: &Taint{Key: "a", Value: "b"}}, node(taint("a", "x", corev1.TaintEffectNoExecute)), false},
		"a taint of another effect":            {Signal{Taint: &Taint{Key: "a", Effect: corev1.TaintEffectNoExecute}}, node(taint("a", "", corev1.TaintEffectNoSchedule)), false},
		"a condition that is bad when True":    {Signal{Condition: &Condition{Type: "XIDErrors", Status: corev1.ConditionTrue}}, node(condition("XIDErrors", corev1.ConditionTrue)), true},
		"a condition that is good when False":  {Signal{Condition: &Condition{Type: "XIDErrors", Status: corev1.ConditionTrue}}, node(condition("XIDErrors", corev1.ConditionFalse)), false},
		"a condition that is bad when False":   {Signal{Condition: &Condition{Type: "KernelReady", Status: corev1.ConditionFalse}}, node(condition("KernelReady", corev1.ConditionFalse)), true},
		"what a pod says is not about a node":  {Signal{PodResourceHealth: true}, node(label("health", "ERR")), false},
		"a condition that nobody has reported": {Signal{Condition: &Condition{Type: "KernelReady", Status: corev1.ConditionFalse}}, node(), false},
	} {
		if got := tc.signal.shows(tc.node); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHoldDownAndLatch(t *testing.T) {
	table := Table{{Name: "s", Label: &Label{Key: "h", Values: []string{"EVICT"}}, Resources: []corev1.ResourceName{gpu}, Effect: Evacuate, HoldDown: 30 * time.Second, Latch: time.Hour}}
	b := NewBook(table)
	bad, good := node(label("h", "EVICT")), node(label("h", "PASS"))
	steps := []struct {
		at      time.Duration
		node    *corev1.Node
		changed bool
		bad     bool
		says    string
	}{
		{0, good, false, false, "nothing shows"},
		{0, bad, true, false, "it is held down"},
		{29 * time.Second, bad, false, false, "still"},
		{30 * time.Second, bad, false, true, "it has lasted"},
		{40 * time.Second, good, true, true, "another check overwrote it, but it is latched"},
		{50 * time.Second, bad, true, true, "again, without another hold-down"},
		{60 * time.Second, good, true, true, "latched anew"},
		{60*time.Second + 59*time.Minute, good, false, true, "still"},
		{61 * time.Minute, good, true, false, "the latch is over"},
		{62 * time.Minute, bad, true, false, "it begins from the start"},
		{62*time.Minute + 10*time.Second, good, true, false, "too short to count, and nothing is latched"},
	}
	for _, s := range steps {
		now := start.Add(s.at)
		changed, _ := b.Observe(s.node, now)
		found, _ := b.Bad("n", wantsG, now)
		if changed != s.changed || (found != nil) != s.bad {
			t.Errorf("%s, %s: changed %v, bad %v", s.at, s.says, changed, found != nil)
		}
	}
}

func TestWhenANodeTurnsBadByItself(t *testing.T) {
	b := NewBook(Table{{Label: &Label{Key: "h", Values: []string{"x"}}, Effect: Evacuate, HoldDown: time.Minute}})
	_, next := b.Observe(node(label("h", "x")), start)
	if !next.Equal(start.Add(time.Minute)) {
		t.Errorf("the node turns at %s", next)
	}
	if found, at := b.Bad("n", nil, start); found != nil || !at.Equal(next) {
		t.Errorf("%v at %s", found, at)
	}
	if found, _ := b.Bad("n", nil, next); found == nil {
		t.Error("it has not turned")
	}
	b.Forget("n")
	if found, at := b.Bad("n", nil, next); found != nil || !at.IsZero() {
		t.Error("a node that is gone is bad")
	}
}

func TestWhomASignalConcerns(t *testing.T) {
	s := Signal{Resources: []corev1.ResourceName{gpu}}
	if s.Concerns(nil) || !s.Concerns(wantsG) || s.Concerns(map[corev1.ResourceName]bool{"cpu": true}) {
		t.Error("exactly the pods that request the resource are meant")
	}
	if !(Signal{}).Concerns(nil) {
		t.Error("without resources all pods are meant")
	}
}

func TestNodesToAvoidByName(t *testing.T) {
	b := NewBook(Table{
		{Label: &Label{Key: "h", Values: []string{"x"}}, Effect: Evacuate, Latch: time.Hour},
		{Condition: &Condition{Type: "Bad", Status: corev1.ConditionTrue}, Effect: Avoid},
		{Taint: &Taint{Key: "slow"}, Effect: SoftAvoid},
	})
	labelled, conditioned, tainted, latched := node(label("h", "x")), node(condition("Bad", corev1.ConditionTrue)), node(taint("slow", "", "")), node(label("h", "x"))
	labelled.Name, conditioned.Name, tainted.Name, latched.Name = "labelled", "conditioned", "tainted", "latched"
	for _, n := range []*corev1.Node{labelled, conditioned, tainted, latched} {
		b.Observe(n, start)
	}
	latched.Labels = nil
	b.Observe(latched, start)
	if diff := cmp.Diff([]string{"conditioned", "latched"}, b.Avoided(nil, false, start)); diff != "" {
		t.Error("a label that shows is left to the affinity:", diff)
	}
	if diff := cmp.Diff([]string{"tainted"}, b.Avoided(nil, true, start)); diff != "" {
		t.Error(diff)
	}
}

func TestUnhealthyDevicesOfAPod(t *testing.T) {
	status := func(name corev1.ResourceName, health corev1.ResourceHealthStatus) *corev1.PodStatus {
		return &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{AllocatedResourcesStatus: []corev1.ResourceStatus{{
			Name: name, Resources: []corev1.ResourceHealth{{ResourceID: "0", Health: health}}}}}}}
	}
	table := Table{{Name: "devices", PodResourceHealth: true, Resources: []corev1.ResourceName{gpu}, Effect: Evacuate}}
	for name, tc := range map[string]struct {
		status *corev1.PodStatus
		want   bool
	}{
		"healthy":         {status(gpu, corev1.ResourceHealthStatusHealthy), false},
		"unhealthy":       {status(gpu, corev1.ResourceHealthStatusUnhealthy), true},
		"not known":       {status(gpu, corev1.ResourceHealthStatusUnknown), false},
		"another device":  {status("example.com/nic", corev1.ResourceHealthStatusUnhealthy), false},
		"nothing is said": {&corev1.PodStatus{}, false},
	} {
		if got := table.Unhealthy(tc.status) != nil; got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if table.WithoutEvacuation().Unhealthy(status(gpu, corev1.ResourceHealthStatusUnhealthy)) != nil {
		t.Error("an operator who wants no evacuation gets one")
	}
}

func TestSignalsThatSayNothing(t *testing.T) {
	for want, s := range map[string]Signal{
		"0 of label":                 {Effect: Avoid},
		"2 of label":                 {Effect: Avoid, Taint: &Taint{Key: "a"}, PodResourceHealth: true},
		"label: key and values":      {Effect: Avoid, Label: &Label{Key: "a"}},
		"taint: key":                 {Effect: Avoid, Taint: &Taint{}},
		"condition: type":            {Effect: Avoid, Condition: &Condition{Type: "a"}},
		`effect: "Maybe" is none of`: {Effect: "Maybe", Taint: &Taint{Key: "a"}},
		"holdDown and latch":         {Effect: Avoid, Taint: &Taint{Key: "a"}, HoldDown: -1},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
