package read

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// trainJobs is a kind that the plugin does not know.
var trainJobs = kind{schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}, "trainjobs"}

// cluster returns a client that serves all kinds and has the given objects in namespace "team". It ignores field
// selectors.
func cluster(t *testing.T, manifests ...string) (Reader, *fake.FakeDynamicClient) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	lists := map[schema.GroupVersionResource]string{podsResource: "PodList", eventsResource: "EventList"}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	for _, k := range append(allKinds(), podKind, trainJobs) {
		mapper.Add(k.GroupVersionKind, meta.RESTScopeNamespace)
		lists[k.gvr()] = k.Kind + "List"
	}
	var objects []runtime.Object
	for _, text := range manifests {
		o := &unstructured.Unstructured{}
		content, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = o.UnmarshalJSON(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.SetNamespace("team")
		objects = append(objects, o)
	}
	k8s := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	return Reader{Client: k8s, Mapper: mapper}, k8s
}

// Jobs from a CronJob's earlier runs still exist, together with their pods.
func TestPodsOfCronJobAreThoseOfTheCurrentRun(t *testing.T) {
	r, _ := cluster(t,
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, uid: c}}`,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: before, uid: j1, ownerReferences: [{kind: CronJob, name: nightly, uid: c, controller: true}]},
 status: {conditions: [{type: Failed, status: "True"}]}}`,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: now, uid: j2, ownerReferences: [{kind: CronJob, name: nightly, uid: c, controller: true}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: before-a, ownerReferences: [{kind: Job, name: before, uid: j1, controller: true}]}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: now-a, ownerReferences: [{kind: Job, name: now, uid: j2, controller: true}]}}`,
	)
	w, err := r.Workload(t.Context(), "team", "nightly")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Pods) != 1 || w.Pods[0].Name != "now-a" {
		t.Errorf("the workload has %d pods: %+v", len(w.Pods), w.Pods)
	}
}
