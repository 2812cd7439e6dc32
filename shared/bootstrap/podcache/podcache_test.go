package podcache

import (
	"context"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// nameAndNode keeps the fields that the program in this test reads.
var nameAndNode Strip = func(full *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: full.ObjectMeta, Spec: corev1.PodSpec{NodeName: full.Spec.NodeName}}
}

// full returns a pod as the API server sends it.
func full(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": copied("training")}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{
			NodeName: copied("node"), Containers: []corev1.Container{{Image: "registry.example/team/worker:v1"}}, TerminationGracePeriodSeconds: new(int64(30)),
		},
	}
}

// copied returns a string with its own bytes, as if it came from the network.
func copied(text string) string { return string([]byte(text)) }

func TestPodIsStrippedOnce(t *testing.T) {
	strips := 0
	s := Strip(func(full *corev1.Pod) *corev1.Pod { strips++; return nameAndNode(full) })
	first, err := s.Transform(full("p"))
	if err != nil {
		t.Fatal(err)
	}
	pod := first.(*corev1.Pod)
	if pod.Name != "p" || pod.Spec.NodeName != "node" || pod.Spec.Containers != nil || pod.ManagedFields != nil {
		t.Errorf("stripped: %+v", pod)
	}
	if second, err := s.Transform(first); err != nil || second != first || strips != 1 {
		t.Errorf("stripped %d times (%v): %+v", strips, err, second)
	}
}

// A cache may contain other kinds, too.
func TestOtherObjectsAreNotChanged(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	if got, err := nameAndNode.Transform(node); err != nil || got != node || len(node.ManagedFields) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPodsShareStrings(t *testing.T) {
	texts := func(name string) []string {
		pod := nameAndNode.once(full(name))
		return []string{pod.Spec.NodeName, pod.Labels["app"]}
	}
	a, b := texts("a"), texts("b")
	for i := range a {
		if a[i] != b[i] || unsafe.StringData(a[i]) != unsafe.StringData(b[i]) {
			t.Errorf("%q and %q are separate copies", a[i], b[i])
		}
	}
}

// Pods are requested in pages, and the pods of each page are stripped.
func TestPodsAreListedInPages(t *testing.T) {
	var asked metav1.ListOptions
	lw := nameAndNode.paged(&cache.ListWatch{ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
		asked = options
		return &corev1.PodList{Items: []corev1.Pod{*full("a"), *full("b")}}, nil
	}})
	for name, c := range map[string]struct {
		limit int64
		want  string
	}{
		"with a limit, no version, so that the list is paged":            {500, ""},
		"without a limit, version 0, which may be served from the cache": {0, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := lw.ListWithContextFunc(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: c.limit, Continue: "next"})
			if err != nil {
				t.Fatal(err)
			}
			if asked.ResourceVersion != c.want || asked.Limit != c.limit || asked.Continue != "next" {
				t.Errorf("requested %+v", asked)
			}
			items := list.(*corev1.PodList).Items
			if len(items) != 2 || items[1].Name != "b" || items[1].Spec.Containers != nil {
				t.Errorf("got %+v", items)
			}
		})
	}
}
