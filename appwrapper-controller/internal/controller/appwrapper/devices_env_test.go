//go:build envtest

package appwrapper

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const driver, badDevice = "gpu.example.com", "gpu.example.com/bad"

func aboutDevices(c *settings.AppWrapper) {
	c.NodeHealth.Signals = []settings.Signal{{Name: "device", DeviceTaint: &signals.Taint{Key: badDevice}, Effect: signals.Evacuate}}
}

// devices publishes gpu-0 and gpu-1 of a node; the namespace is the pool.
func (w *world) devices(node *corev1.Node) *resourcev1.ResourceSlice {
	w.Helper()
	slice := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "slice-"},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: driver, NodeName: &node.Name, Pool: resourcev1.ResourcePool{Name: w.Namespace, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
		},
	}
	w.OK(w.Create(w.Context(), slice))
	w.Cleanup(func() { _ = w.Delete(context.Background(), slice) })
	return slice
}

// claim is one that the scheduler has given a device.
func (w *world) claim(name, device string) {
	w.Helper()
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpus"}}}}},
	}
	w.OK(w.Create(w.Context(), claim))
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: driver, Pool: w.Namespace, Device: device}}}}
	w.OK(w.Status().Update(w.Context(), claim))
}

const claimingJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s}
spec: {template: {spec: {restartPolicy: Never, resourceClaims: [{name: gpu, resourceClaimName: %[1]s}], containers: [
  {name: worker, image: worker-image, resources: {claims: [{name: gpu}]}}]}}}`

// The driver taints a device: the workload that holds it leaves, is not charged for it and keeps away from the node. The one that holds
// the device beside it runs on.
func TestATaintedDeviceIsLeft(t *testing.T) {
	w := newWorld(t, aboutDevices)
	node := w.node("devices", nil)
	slice := w.devices(node)
	for name, device := range map[string]string{"a": "gpu-0", "b": "gpu-1"} {
		w.claim(name, device)
		w.create(MakeAppWrapper(name).Component(fmt.Sprintf(claimingJob, name)))
		w.onNode(w.job(name), name, node.Name)
		w.awaitCondition(name, "PodsReady=True/SufficientPodsReady")
	}
	job := w.job("a")
	slice.Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: badDevice, Effect: resourcev1.DeviceTaintEffectNone}}
	w.OK(w.Update(w.Context(), slice))
	w.Eventually(func() string { return sandbox.Differs("evacuations", "1", fmt.Sprint(w.get("a").Status.Evacuations)) })
	w.Eventually(func() string {
		if why := w.message("a", "Unhealthy"); !strings.Contains(why, node.Name) || !strings.Contains(why, "(device)") {
			return "it says " + why
		}
		return ""
	})
	var pod corev1.Pod
	pod.Name, pod.Namespace = "a", w.Namespace
	w.OK(w.Delete(w.Context(), &pod))
	next := w.awaitNewJob(job)
	term := next.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	if len(term.MatchFields) != 1 || term.MatchFields[0].Values[0] != node.Name {
		t.Errorf("affinity %+v", term)
	}
	if aw := w.get("b"); aw.Status.Evacuations != 0 || aw.Status.Phase != "Running" {
		t.Errorf("the other one is %s after %d evacuations", aw.Status.Phase, aw.Status.Evacuations)
	}
	if aw := w.get("a"); aw.Status.Retries != 0 {
		t.Errorf("%d resets are charged", aw.Status.Retries)
	}
}
