package devices

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Unix(1000, 0)

func taint(key string) resourcev1.DeviceTaint {
	return resourcev1.DeviceTaint{Key: key, Value: "v", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: &metav1.Time{Time: now.Add(-time.Minute)}}
}

// slice of driver d and pool p, with device "gpu-0" that has the taints.
func slice(name string, generation int64, taints ...resourcev1.DeviceTaint) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "d", Pool: resourcev1.ResourcePool{Name: "p", Generation: generation, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0", Taints: taints}, {Name: "gpu-1"}},
		},
	}
}

func ruled(key string, selector *resourcev1beta2.DeviceTaintSelector) *resourcev1beta2.DeviceTaintRule {
	return &resourcev1beta2.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "rule-" + key},
		Spec: resourcev1beta2.DeviceTaintRuleSpec{
			DeviceSelector: selector, Taint: resourcev1beta2.DeviceTaint{Key: key, Value: "v", Effect: resourcev1beta2.DeviceTaintEffectNoExecute},
		},
	}
}

func held(device string, tolerations ...resourcev1.DeviceToleration) []resourcev1.DeviceRequestAllocationResult {
	return []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "p", Device: device, Tolerations: tolerations}}
}

func keys(taints []resourcev1.DeviceTaint) []string {
	var keys []string
	for _, t := range taints {
		keys = append(keys, t.Key)
	}
	return keys
}

func TestTaintsOfDevices(t *testing.T) {
	gpu1, other := "gpu-1", "other"
	for name, c := range map[string]struct {
		slices []*resourcev1.ResourceSlice
		rules  []*resourcev1beta2.DeviceTaintRule
		device string
		want   []string
	}{
		"a device that its driver has tainted":    {slices: []*resourcev1.ResourceSlice{slice("s", 1, taint("bad"))}, device: "gpu-0", want: []string{"bad"}},
		"another device of the pool":              {slices: []*resourcev1.ResourceSlice{slice("s", 1, taint("bad"))}, device: "gpu-1"},
		"a taint of an earlier generation":        {slices: []*resourcev1.ResourceSlice{slice("old", 1, taint("bad")), slice("new", 2)}, device: "gpu-0"},
		"a rule for all devices":                  {rules: []*resourcev1beta2.DeviceTaintRule{ruled("all", &resourcev1beta2.DeviceTaintSelector{})}, device: "gpu-1", want: []string{"all"}},
		"a rule for this device":                  {rules: []*resourcev1beta2.DeviceTaintRule{ruled("one", &resourcev1beta2.DeviceTaintSelector{Device: &gpu1})}, device: "gpu-1", want: []string{"one"}},
		"a rule for another device":               {rules: []*resourcev1beta2.DeviceTaintRule{ruled("one", &resourcev1beta2.DeviceTaintSelector{Device: &gpu1})}, device: "gpu-0"},
		"a rule for another driver":               {rules: []*resourcev1beta2.DeviceTaintRule{ruled("d", &resourcev1beta2.DeviceTaintSelector{Driver: &other})}, device: "gpu-0"},
		"a rule for another pool":                 {rules: []*resourcev1beta2.DeviceTaintRule{ruled("p", &resourcev1beta2.DeviceTaintSelector{Pool: &other})}, device: "gpu-0"},
		"a rule that selects nothing":             {rules: []*resourcev1beta2.DeviceTaintRule{ruled("none", nil)}, device: "gpu-0"},
		"a device that nobody has said a word of": {device: "gpu-7"},
	} {
		t.Run(name, func(t *testing.T) {
			i := NewInventory()
			for _, s := range c.slices {
				i.ObserveSlice(s)
			}
			for _, r := range c.rules {
				i.ObserveRule(r)
			}
			if diff := cmp.Diff(c.want, keys(i.Taints(held(c.device), now))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTolerations(t *testing.T) {
	exists, seconds := resourcev1.DeviceTolerationOpExists, func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		toleration resourcev1.DeviceToleration
		tolerated  bool
	}{
		"everything":                  {resourcev1.DeviceToleration{Operator: exists}, true},
		"the key":                     {resourcev1.DeviceToleration{Key: "bad", Operator: exists}, true},
		"the key and the value":       {resourcev1.DeviceToleration{Key: "bad", Value: "v"}, true},
		"another value":               {resourcev1.DeviceToleration{Key: "bad", Value: "w"}, false},
		"another key":                 {resourcev1.DeviceToleration{Key: "worse", Operator: exists}, false},
		"another effect":              {resourcev1.DeviceToleration{Operator: exists, Effect: resourcev1.DeviceTaintEffectNoSchedule}, false},
		"for longer than it has been": {resourcev1.DeviceToleration{Operator: exists, TolerationSeconds: seconds(61)}, true},
		"for no longer than it has":   {resourcev1.DeviceToleration{Operator: exists, TolerationSeconds: seconds(60)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			i := NewInventory()
			i.ObserveSlice(slice("s", 1, taint("bad")))
			if got := len(i.Taints(held("gpu-0", c.toleration), now)) == 0; got != c.tolerated {
				t.Errorf("tolerated: %t", got)
			}
		})
	}
}

// Workloads are woken by news about taints, and by no others: drivers publish their slices often.
func TestWhatIsNews(t *testing.T) {
	i := NewInventory()
	all := &resourcev1beta2.DeviceTaintSelector{}
	for _, step := range []struct {
		what string
		do   func() bool
		want bool
	}{
		{"a slice without taints", func() bool { return i.ObserveSlice(slice("s", 1)) }, false},
		{"a taint", func() bool { return i.ObserveSlice(slice("s", 1, taint("bad"))) }, true},
		{"the same again", func() bool { return i.ObserveSlice(slice("s", 1, taint("bad"))) }, false},
		{"another generation", func() bool { return i.ObserveSlice(slice("s", 2, taint("bad"))) }, true},
		{"a rule", func() bool { return i.ObserveRule(ruled("r", all)) }, true},
		{"the same rule", func() bool { return i.ObserveRule(ruled("r", all)) }, false},
		{"it selects nothing any more", func() bool { return i.ObserveRule(ruled("r", nil)) }, true},
		{"it is deleted", func() bool { return i.ForgetRule("rule-r") }, false},
		{"the slice is gone", func() bool { return i.ForgetSlice(slice("s", 2)) }, true},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s: news %t", step.what, got)
		}
	}
	if len(i.pools)+len(i.rules) > 0 {
		t.Errorf("something is remembered: %v, %v", i.pools, i.rules)
	}
}
