package placement

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

const zone = "example.com/zone"

// podOf returns a pod of the Job with the UID "job", bound to the node unless node is empty.
func podOf(name string, index int, node string) *corev1.Pod {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "job"}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "n",
			Annotations:     map[string]string{v1alpha2.ExclusiveKey: zone, batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
}

// indexed is a client builder to which AddIndexes can add indexes, as it does to a cache.
type indexed struct{ *fake.ClientBuilder }

func (i indexed) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// domainsOf returns the Domains of a cluster with these pods, and with nodes whose zones are named after the nodes.
// read counts the pods that are read.
func domainsOf(t *testing.T, pods []*corev1.Pod, read *int) Domains {
	t.Helper()
	b := indexed{fake.NewClientBuilder()}
	if err := AddIndexes(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		b.WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: name}}})
	}
	for _, pod := range pods {
		b.WithObjects(pod)
	}
	b.WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			*read += len(list.(*corev1.PodList).Items)
			return err
		},
	})
	return Domains{b.Build()}
}

// The few pods that Domains reads result in the same domain as all pods of the Job would.
func TestDomainIsThatOfTheAnchor(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		pods := make([]*corev1.Pod, random.IntN(6))
		for i := range pods {
			pods[i] = podOf(fmt.Sprintf("p%d", i), random.IntN(3), []string{"", "a", "b", "c"}[random.IntN(4)])
			pods[i].CreationTimestamp = metav1.NewTime(time.Unix(1_000_000+int64(i), 0))
			pods[i].Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded}[random.IntN(3)]
		}
		want, read := "", 0
		if anchor := exclusive.Anchor(pods); anchor != nil {
			want = anchor.Spec.NodeName
		}
		got, err := domainsOf(t, pods, &read).Of(t.Context(), types.UID("job"), zone)
		if err != nil || got != want {
			t.Fatalf("seed %d: the domain is %q, %v, want %q", seed, got, err, want)
		}
	}
}

// The webhook runs for each pod of a Job, and must not read all of the Job's pods each time.
func TestOnePodIsReadForEachCreatedPod(t *testing.T) {
	var followers []*corev1.Pod
	for i := range 50 {
		followers = append(followers, podOf(fmt.Sprintf("f%d", i), i+1, ""))
	}
	for name, c := range map[string]struct {
		leader *corev1.Pod
		domain string
		most   int
	}{
		"its leader has a node":   {podOf("l", 0, "b"), "b", 1},
		"its leader has none yet": {podOf("l", 0, ""), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			read := 0
			got, err := domainsOf(t, append(followers, c.leader), &read).Of(t.Context(), types.UID("job"), zone)
			if err != nil || got != c.domain || read > c.most {
				t.Errorf("the domain is %q, %v, want %q; %d pods were read, want at most %d", got, err, c.domain, read, c.most)
			}
		})
	}
}

// A completed leader does not determine the domain, but running pods do.
func TestCompletedPodHasNoDomain(t *testing.T) {
	done := podOf("l", 0, "a")
	done.Status.Phase = corev1.PodSucceeded
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"no pod is running yet":     {[]*corev1.Pod{done}, ""},
		"the new leader is running": {[]*corev1.Pod{done, podOf("n", 1, "b")}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			read := 0
			if got, err := domainsOf(t, c.pods, &read).Of(t.Context(), types.UID("job"), zone); err != nil || got != c.want {
				t.Errorf("the domain is %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestLeaderBelongsToTheJobByUID(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "n", UID: "job"}, Status: batchv1.JobStatus{CompletedIndexes: "0"}}
	d := Domains{fake.NewClientBuilder().WithObjects(job).Build()}
	for name, c := range map[string]struct {
		name string
		uid  types.UID
		want bool
	}{
		"the Job":                           {"j", "job", true},
		"an earlier Job with the same name": {"j", "earlier", false},
		"a Job that is not in the cache":    {"k", "job", false},
	} {
		over, err := d.LeaderIsOver(t.Context(), types.NamespacedName{Namespace: "n", Name: c.name}, c.uid)
		if err != nil || over != c.want {
			t.Errorf("%s: %v, %v", name, over, err)
		}
	}
}
