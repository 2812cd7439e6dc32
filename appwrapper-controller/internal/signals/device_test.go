package signals

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTaintsOfDevices(t *testing.T) {
	table := Table{
		{Name: "label", Label: &Label{Key: "bad", Values: []string{"v"}}, Effect: Evacuate},
		{Name: "device", DeviceTaint: &Taint{Key: "bad", Effect: corev1.TaintEffectNoExecute}, Effect: Evacuate, HoldDown: time.Minute},
	}
	bad := func(age time.Duration) resourcev1.DeviceTaint {
		return resourcev1.DeviceTaint{Key: "bad", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: &metav1.Time{Time: start.Add(-age)}}
	}
	undated := bad(0)
	undated.TimeAdded = nil
	for name, c := range map[string]struct {
		taint resourcev1.DeviceTaint
		found bool
		next  time.Time
	}{
		"a taint that has lasted":   {bad(time.Minute), true, time.Time{}},
		"a taint that is young":     {bad(time.Second), false, start.Add(59 * time.Second)},
		"a taint that says no time": {undated, true, time.Time{}},
		"a taint of another key":    {resourcev1.DeviceTaint{Key: "good", Effect: resourcev1.DeviceTaintEffectNoExecute}, false, time.Time{}},
		"a taint of another effect": {resourcev1.DeviceTaint{Key: "bad", Effect: resourcev1.DeviceTaintEffectNone}, false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			found, next := table.Tainted([]resourcev1.DeviceTaint{c.taint}, start)
			if (found != nil) != c.found || !next.Equal(c.next) {
				t.Errorf("%v, next at %s", found, next)
			}
			if found != nil && found.Name != "device" {
				t.Errorf("found %s", found.Name)
			}
		})
	}
	if !table.AboutDevices() || table[:1].AboutDevices() || table.WithoutEvacuation().AboutDevices() {
		t.Error("whether devices have to be watched")
	}
}

func TestSignalsOfDevicesAreValidated(t *testing.T) {
	for name, c := range map[string]struct {
		signal Signal
		ok     bool
	}{
		"a good one":       {Signal{DeviceTaint: &Taint{Key: "k"}, Effect: Evacuate, HoldDown: time.Second}, true},
		"without a key":    {Signal{DeviceTaint: &Taint{}, Effect: Evacuate}, false},
		"to avoid":         {Signal{DeviceTaint: &Taint{Key: "k"}, Effect: Avoid}, false},
		"with a resource":  {Signal{DeviceTaint: &Taint{Key: "k"}, Effect: Evacuate, Resources: []corev1.ResourceName{gpu}}, false},
		"with a latch":     {Signal{DeviceTaint: &Taint{Key: "k"}, Effect: Evacuate, Latch: time.Second}, false},
		"and one of nodes": {Signal{DeviceTaint: &Taint{Key: "k"}, Taint: &Taint{Key: "k"}, Effect: Evacuate}, false},
	} {
		if err := c.signal.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
