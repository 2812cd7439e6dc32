package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// upstreamPods returns a client with a JobSet and its pods, whose containers run the upstream controller's agent.
func upstreamPods(t *testing.T, n int) (client.WithWatch, *v1alpha2.JobSet, []*corev1.Pod) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train"}}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(js).WithObjects(js)
	var pods []*corev1.Pod
	for i := range n {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Command: []string{"train"}}}}}
		UpstreamPod(&template)
		pods = append(pods, &corev1.Pod{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprint("train-", i), UID: types.UID(fmt.Sprint("uid-", i)),
			Annotations: map[string]string{
				v1alpha2.JobSetNameKey: "train", v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0", batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i),
			},
		}})
		b = b.WithObjects(pods[i].DeepCopy())
	}
	return b.Build(), js, pods
}

// restarted is a kubelet that restarts containers that exit.
type restarted struct{ exits chan types.NamespacedName }

func (r restarted) Exit(pod types.NamespacedName, _ string, _ int32) error {
	r.exits <- pod
	return nil
}

func (restarted) RemoveRecord(types.NamespacedName, string) error { return nil }

func TestUpstreamAgentsRestartTogether(t *testing.T) {
	const n = 3
	api, js, pods := upstreamPods(t, n)
	k := restarted{exits: make(chan types.NamespacedName, 10)}
	c := New(Options{Timing: Measured(), Client: api})
	defer c.Close()
	c.Attach(k)
	set := func(current, previous *int32) {
		t.Helper()
		js.Status.CurrentInPlaceRestartAttempt, js.Status.PreviousInPlaceRestartAttempt = current, previous
		if err := api.Status().Update(t.Context(), js); err != nil {
			t.Fatal(err)
		}
	}
	attempts := func(want ...string) {
		t.Helper()
		eventually(t, fmt.Sprint("the attempts are ", want), func() bool {
			var all []string
			for _, p := range pods {
				var pod corev1.Pod
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(p), &pod); err != nil {
					t.Fatal(err)
				}
				all = append(all, pod.Annotations[attemptKey])
			}
			return slices.Equal(all, want)
		})
	}
	starts := func(watch *Stopwatch, want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d workers start", want), func() bool { n, _ := watch.Started(); return n == want })
	}
	start := func(p *corev1.Pod) { c.Observe(p, kubelet.Started{Container: "worker"}) }

	watch := c.Watch("train")
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(js), js); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods {
		start(p)
	}
	eventually(t, "the agents watch the JobSet", func() bool {
		js.Labels = map[string]string{"changed": fmt.Sprint(time.Now().UnixNano())}
		if err := api.Update(t.Context(), js); err != nil {
			t.Fatal(err)
		}
		c.upstream.mu.Lock()
		defer c.upstream.mu.Unlock()
		return len(c.upstream.status) == 1
	})
	attempts("0", "0", "0")
	set(ptr.To[int32](0), nil)
	starts(watch, n)

	// Worker 1 fails: its container is restarted, and the others exit once the controller reports that their attempt has ended.
	watch = c.Watch("train")
	if _, err := c.Fail("train", "train-w-0-1"); err != nil {
		t.Fatal(err)
	}
	if failed := <-k.exits; failed.Name != "train-1" {
		t.Fatalf("%s exits", failed.Name)
	}
	start(pods[1])
	attempts("0", "1", "0")
	set(ptr.To[int32](0), ptr.To[int32](0))
	for _, i := range []int{0, 2} {
		<-k.exits
		start(pods[i])
	}
	attempts("1", "1", "1")
	if n, _ := watch.Started(); n > 0 {
		t.Errorf("%d workers start before all are at the barrier", n)
	}
	set(ptr.To[int32](1), ptr.To[int32](0))
	starts(watch, n)
	if watch.Order(1).IsZero() || len(k.exits) > 0 {
		t.Errorf("orders %s, %d further exits", watch.Order(1), len(k.exits))
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
