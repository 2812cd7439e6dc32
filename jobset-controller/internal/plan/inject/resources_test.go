package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// asks parses resources such as "cpu=2 memory=1Gi".
func asks(requests, limits string) corev1.ResourceRequirements {
	list := func(text string) corev1.ResourceList {
		var all corev1.ResourceList
		for _, pair := range strings.Fields(text) {
			name, amount, _ := strings.Cut(pair, "=")
			if all == nil {
				all = corev1.ResourceList{}
			}
			all[corev1.ResourceName(name)] = resource.MustParse(amount)
		}
		return all
	}
	return corev1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}
}

// A pod requests the sum of its containers' requests, or those of an init container if they are greater. For example,
// thirty workers without requests must not request three cores just because each of them gets a supervisor.
func TestInstallerRequestsNoMoreThanTheWorker(t *testing.T) {
	for name, c := range map[string]struct{ worker, want corev1.ResourceRequirements }{
		"best effort is kept":                 {asks("", ""), asks("", "")},
		"guaranteed is kept":                  {asks("cpu=2 memory=1Gi", "cpu=2 memory=1Gi"), asks("cpu=2 memory=1Gi", "cpu=2 memory=1Gi")},
		"burstable is kept":                   {asks("cpu=2", "memory=1Gi"), asks("cpu=2", "memory=1Gi")},
		"devices are left to the worker":      {asks("nvidia.com/gpu=8", "nvidia.com/gpu=8"), asks("", "")},
		"so are huge pages and local storage": {asks("hugepages-2Mi=4Mi ephemeral-storage=1Gi memory=1Gi", ""), asks("memory=1Gi", "")},
	} {
		t.Run(name, func(t *testing.T) {
			js := plain(func(e *v1alpha2.ReplicatedJob) { e.Template.Spec.Template.Spec.Containers[0].Resources = c.worker })
			pod := build(js, 0, complete).Spec.Template.Spec
			if diff := cmp.Diff(c.want, pod.InitContainers[0].Resources, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.worker, pod.Containers[0].Resources); diff != "" {
				t.Errorf("the worker's were changed: %s", diff)
			}
		})
	}
}
