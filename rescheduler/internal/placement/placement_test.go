package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "z", corev1.LabelHostname: "a"}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(n)
	}
	return n
}

func taint(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: effect}} }
}

func TestFits(t *testing.T) {
	tolerant := corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		node *corev1.Node
		want bool
	}{
		"ready node":                          {corev1.PodSpec{}, node(), true},
		"node that is not ready":              {corev1.PodSpec{}, node(func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }), false},
		"node without conditions":             {corev1.PodSpec{}, node(func(n *corev1.Node) { n.Status.Conditions = nil }), false},
		"cordoned node":                       {corev1.PodSpec{}, node(func(n *corev1.Node) { n.Spec.Unschedulable = true }), false},
		"tainted node":                        {corev1.PodSpec{}, node(taint(corev1.TaintEffectNoSchedule)), false},
		"node with a NoExecute taint":         {corev1.PodSpec{}, node(taint(corev1.TaintEffectNoExecute)), false},
		"node with a PreferNoSchedule taint":  {corev1.PodSpec{}, node(taint(corev1.TaintEffectPreferNoSchedule)), true},
		"tolerated taint":                     {tolerant, node(taint(corev1.TaintEffectNoSchedule)), true},
		"matching selector":                   {corev1.PodSpec{NodeSelector: map[string]string{"zone": "z"}}, node(), true},
		"other selector":                      {corev1.PodSpec{NodeSelector: map[string]string{"zone": "y"}}, node(), false},
		"affinity that excludes this node":    {avoiding(nil, "a"), node(), false},
		"affinity that excludes another node": {avoiding(nil, "b"), node(), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Fitting(&corev1.Pod{Spec: c.spec})(c.node); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func avoiding(required *corev1.NodeSelector, nodes ...string) corev1.PodSpec {
	return with(Avoid(required, nodes))
}

func with(required *corev1.NodeSelector) corev1.PodSpec {
	return corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}}
}

func expression(key string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

// Terms are alternatives. A term that does not exclude the node allows it.
func TestEveryTermMustExcludeNode(t *testing.T) {
	theirs := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("zone", "z"), expression("zone", "y", "z"), {}}}
	before := theirs.DeepCopy()
	pod := &corev1.Pod{Spec: avoiding(theirs, "a", "b")}
	fits := Fitting(pod)
	for _, name := range []string{"a", "b"} {
		if fits(node(func(n *corev1.Node) { n.Name = name })) {
			t.Errorf("node %s matches", name)
		}
	}
	if !fits(node(func(n *corev1.Node) { n.Name = "c" })) {
		t.Error("node c does not match")
	}
	if fits(node(func(n *corev1.Node) { n.Name, n.Labels = "c", nil })) {
		t.Error("the user's terms are lost: the empty term matches, or others match without a zone")
	}
	if diff := cmp.Diff(before, theirs); diff != "" {
		t.Errorf("the argument was modified: %s", diff)
	}
	if !Avoids(pod, []string{"b"}) || Avoids(pod, []string{"c"}) {
		t.Error("Avoids does not recognize the result of Avoid")
	}
	again := Avoid(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, []string{"a", "b"})
	if diff := cmp.Diff(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, again); diff != "" {
		t.Errorf("a second call adds: %s", diff)
	}
}

func TestFreed(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{
		"no other affinity": avoiding(nil, "a"),
		"user's affinity":   avoiding(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("zone", "z")}}, "a"),
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: spec}
			if Fitting(pod)(node()) || !Fitting(WithoutExclusions(pod, []string{"a"}))(node()) {
				t.Error("the exclusion was not removed")
			}
		})
	}
	wish := &corev1.Pod{Spec: avoiding(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("zone", "y")}}, "a")}
	if Fitting(WithoutExclusions(wish, []string{"a"}))(node()) {
		t.Error("the user's terms were removed, too")
	}
}

func TestPinned(t *testing.T) {
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"nothing":                            {corev1.PodSpec{}, false},
		"node chosen by the scheduler":       {corev1.PodSpec{NodeName: "a"}, false},
		"selector of one host":               {corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: "a"}}, true},
		"selector of a zone":                 {corev1.PodSpec{NodeSelector: map[string]string{"zone": "z"}}, false},
		"affinity to one host":               {with(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression(corev1.LabelHostname, "a")}}), true},
		"affinity to two hosts":              {with(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression(corev1.LabelHostname, "a", "b")}}), false},
		"affinity to a host or a zone":       {with(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression(corev1.LabelHostname, "a"), expression("zone", "z")}}), false},
		"affinity that excludes other hosts": {avoiding(nil, "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Pinned(&corev1.Pod{Spec: c.spec}); (got != "") != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTiedTo(t *testing.T) {
	local := func(terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
	}
	for name, c := range map[string]struct {
		volume *corev1.PersistentVolume
		want   bool
	}{
		"network volume":   {&corev1.PersistentVolume{}, false},
		"local volume":     {local(expression(corev1.LabelHostname, "a")), true},
		"volume of a zone": {local(expression("zone", "z")), false},
		"hostPath volume": {&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
		}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TiedTo(c.volume); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// A queue may place all pods by topology, whether or not they request it.
func TestPlaced(t *testing.T) {
	annotated := func(key string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: "x"}}}
	}
	admitted := annotated("kueue.x-k8s.io/workload")
	pinned := annotated("kueue.x-k8s.io/workload")
	pinned.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"}
	gated := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}}}}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"pod that requests a topology":         {annotated("kueue.x-k8s.io/podset-required-topology"), true},
		"pod that requests slices":             {annotated("kueue.x-k8s.io/podset-slice-required-topology"), true},
		"pod with the topology gate":           {gated, true},
		"pod admitted and placed by Kueue":     {pinned, true},
		"pod admitted by Kueue":                {admitted, false},
		"pod without Kueue":                    {&corev1.Pod{}, false},
		"pod pinned to a host by its owner":    {&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: pinned.Spec.NodeSelector}}, false},
		"pod with the gate of another program": {&corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "x"}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Placed(c.pod); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
