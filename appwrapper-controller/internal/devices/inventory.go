package devices

import (
	"reflect"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// Inventory is what is known of tainted devices. It is safe for concurrent use.
type Inventory struct {
	mu    sync.Mutex
	pools map[pool]map[string]published // by the name of the slice
	rules map[string]rule               // by the name of the DeviceTaintRule
}

// pool of a driver.
type pool struct{ driver, name string }

// published is what one slice says. Only the slices of the latest generation of a pool hold.
type published struct {
	generation int64
	tainted    map[string][]resourcev1.DeviceTaint // by the name of the device
}

// rule taints the devices that it selects; an empty part selects all.
type rule struct {
	driver, pool, device string
	taint                resourcev1.DeviceTaint
}

// NewInventory knows of nothing.
func NewInventory() *Inventory {
	return &Inventory{pools: map[pool]map[string]published{}, rules: map[string]rule{}}
}

// ObserveSlice remembers what a driver says about its devices, and tells whether that is news about taints.
func (i *Inventory) ObserveSlice(slice *resourcev1.ResourceSlice) (changed bool) {
	now := published{generation: slice.Spec.Pool.Generation, tainted: map[string][]resourcev1.DeviceTaint{}}
	for _, device := range slice.Spec.Devices {
		if len(device.Taints) > 0 {
			now.tainted[device.Name] = device.Taints
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	at := poolOf(slice)
	if i.pools[at] == nil {
		i.pools[at] = map[string]published{}
	}
	before, known := i.pools[at][slice.Name]
	i.pools[at][slice.Name] = now
	if !known {
		return len(now.tainted) > 0
	}
	return before.generation != now.generation || !reflect.DeepEqual(before.tainted, now.tainted)
}

// ForgetSlice drops a slice that is gone, and tells whether it had a tainted device.
func (i *Inventory) ForgetSlice(slice *resourcev1.ResourceSlice) (changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := poolOf(slice)
	changed = len(i.pools[at][slice.Name].tainted) > 0
	delete(i.pools[at], slice.Name)
	if len(i.pools[at]) == 0 {
		delete(i.pools, at)
	}
	return changed
}

func poolOf(slice *resourcev1.ResourceSlice) pool {
	return pool{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// ObserveRule remembers what an administrator says. A rule without a selector selects nothing.
func (i *Inventory) ObserveRule(r *resourcev1beta2.DeviceTaintRule) (changed bool) {
	selector := r.Spec.DeviceSelector
	if selector == nil {
		return i.ForgetRule(r.Name)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	now := rule{
		driver: text(selector.Driver), pool: text(selector.Pool), device: text(selector.Device),
		taint: resourcev1.DeviceTaint{
			Key: r.Spec.Taint.Key, Value: r.Spec.Taint.Value, Effect: resourcev1.DeviceTaintEffect(r.Spec.Taint.Effect), TimeAdded: r.Spec.Taint.TimeAdded,
		},
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	before, known := i.rules[r.Name]
	i.rules[r.Name] = now
	return !known || !reflect.DeepEqual(before, now)
}

// ForgetRule drops a rule that is gone.
func (i *Inventory) ForgetRule(name string) (changed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_, changed = i.rules[name]
	delete(i.rules, name)
	return changed
}

// Taints of the devices that were allocated, those left out that the claim tolerates at this time.
func (i *Inventory) Taints(held []resourcev1.DeviceRequestAllocationResult, now time.Time) []resourcev1.DeviceTaint {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []resourcev1.DeviceTaint
	for n := range held {
		for _, taint := range i.taints(&held[n]) {
			if !tolerated(taint, held[n].Tolerations, now) {
				found = append(found, taint)
			}
		}
	}
	return found
}

func (i *Inventory) taints(device *resourcev1.DeviceRequestAllocationResult) []resourcev1.DeviceTaint {
	var found []resourcev1.DeviceTaint
	slices := i.pools[pool{device.Driver, device.Pool}]
	latest := int64(-1)
	for _, s := range slices {
		latest = max(latest, s.generation)
	}
	for _, s := range slices {
		if s.generation == latest {
			found = append(found, s.tainted[device.Device]...)
		}
	}
	for _, r := range i.rules {
		if r.selects(device) {
			found = append(found, r.taint)
		}
	}
	return found
}

func (r rule) selects(device *resourcev1.DeviceRequestAllocationResult) bool {
	matches := func(wanted, is string) bool { return wanted == "" || wanted == is }
	return matches(r.driver, device.Driver) && matches(r.pool, device.Pool) && matches(r.device, device.Device)
}

// tolerated follows the API: no key, with Exists, is any key; no effect is any effect; with seconds it is for so long only.
func tolerated(taint resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration, now time.Time) bool {
	for _, t := range tolerations {
		switch {
		case t.Effect != "" && t.Effect != taint.Effect:
		case t.Key != "" && t.Key != taint.Key:
		case t.Operator != resourcev1.DeviceTolerationOpExists && (t.Key == "" || t.Value != taint.Value):
		case t.TolerationSeconds != nil && expired(taint, time.Duration(*t.TolerationSeconds)*time.Second, now):
		default:
			return true
		}
	}
	return false
}

func expired(taint resourcev1.DeviceTaint, after time.Duration, now time.Time) bool {
	return taint.TimeAdded != nil && !now.Before(taint.TimeAdded.Add(after))
}
