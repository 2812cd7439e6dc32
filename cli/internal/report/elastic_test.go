package report

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/cli/internal/read"
)

// elasticJob returns the manifest of an ElasticJob with 4 workers, a minimum of 2, and the given status in YAML.
func elasticJob(status string) string {
	return `
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: elastic, namespace: team, uid: ej, creationTimestamp: "2026-11-22T12:00:00Z", labels: {kueue.x-k8s.io/queue-name: q}}
spec: {minReplicas: 2, maxReplicas: 4, backoffLimit: 1}
status: {` + status + `}`
}

// elasticPod returns a pod of that job with the given replica type.
func elasticPod(name, replica, index string, phase corev1.PodPhase) corev1.Pod {
	p := pod(name, phase == corev1.PodRunning)
	p.Status.Phase = phase
	p.Labels = map[string]string{"replica-type": replica, "replica-index": index}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "elastic.pytorch.org/v1alpha1", Kind: "ElasticJob", Name: "elastic", UID: "ej", Controller: new(true)}}
	return p
}

// elasticPods returns the rendezvous server, and workers with indexes starting at 0.
func elasticPods(workers ...corev1.PodPhase) []corev1.Pod {
	pods := []corev1.Pod{elasticPod("elastic-rendezvous", "rendezvous", "", corev1.PodPending)}
	for i, phase := range workers {
		pods = append(pods, elasticPod(fmt.Sprintf("elastic-worker-%d", i), "worker", fmt.Sprint(i), phase))
	}
	return pods
}

func unscheduled(p corev1.Pod) corev1.Pod {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}
	return p
}

const runs = `{type: Running, status: "True", reason: ElasticJobRunning}`

func elasticCases() map[string]struct {
	status string
	pods   []corev1.Pod
} {
	const up, failed = corev1.PodRunning, corev1.PodFailed
	pending := unscheduled(elasticPod("elastic-worker-3", "worker", "3", corev1.PodPending))
	type c = struct {
		status string
		pods   []corev1.Pod
	}
	return map[string]c{
		"below-wanted": {
			`state: Running, message: "3 of 4 workers are running: 1 waiting for a node", conditions: [` + runs + `]`, append(elasticPods(up, up, up), pending),
		},
		"abandoned": {
			`state: Running, message: "3 of 4 workers are running: 1 abandoned", failedIndexes: "1", conditions: [` + runs + `],
 workers: [{index: 1, failures: 2, lastReason: exited with code 3, lastTime: "2026-11-22T12:40:00.000000Z"}]`, elasticPods(up, failed, up, up),
		},
		"too-few": {
			`state: Pending, message: "1 of 4 workers are running: 3 waiting for a node", conditions: [{type: Running, status: "False", reason: ElasticJobNotRunning}]`,
			append(elasticPods(up), pending),
		},
		"suspended": {
			`state: Suspended, message: waiting for Kueue to admit the job from queue q, conditions: [{type: Suspended, status: "True", reason: ElasticJobSuspended}]`, nil,
		},
		"restarting": {
			`state: Restarting, message: "3 of 4 workers are running: 1 not created yet", conditions: [` + runs + `, {type: Recovering, status: "True", lastTransitionTime: "2026-11-22T12:59:58Z"}],
 workers: [{index: 3, failures: 1, lastReason: exited with code 1, lastTime: "2026-11-22T12:59:58.000000Z"}]`, elasticPods(up, up, up),
		},
	}
}

func TestStatusOfAnElasticJob(t *testing.T) {
	for name, tc := range elasticCases() {
		t.Run(name, func(t *testing.T) {
			o := object(t, elasticJob(tc.status))
			if name == "restarting" {
				o.SetAnnotations(map[string]string{
					"holdfast.dev/recovering": `{"level":3,"reason":"ElasticJob elastic is restarting because 1 Worker replica(s) failed.","deadline":"2026-11-22T13:04:58Z"}`,
				})
			}
			golden(t, "status-elastic-"+name+".txt", text(Of(&read.Workload{Objects: []*unstructured.Unstructured{o}, Pods: tc.pods}, now), false))
		})
	}
}

func TestLineOfElasticJobWithFewerWorkers(t *testing.T) {
	tc := elasticCases()["below-wanted"]
	w := &read.Workload{Objects: []*unstructured.Unstructured{object(t, elasticJob(tc.status))}, Pods: tc.pods}
	want := "ElasticJob elastic  3 of 4 ready  Training: 3 of 4 workers are running: 1 waiting for a node  worker failures 0"
	if got := Of(w, now).Line(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// In an AppWrapper with an ElasticJob, all other pods are required.
func TestElasticJobAndOtherPodsInAppWrapper(t *testing.T) {
	tc := elasticCases()["below-wanted"]
	for name, c := range map[string]struct {
		status string
		other  corev1.Pod
		want   State
		waits  string
	}{
		"all others are ready":    {tc.status, pod("other", true), Training, ""},
		"another is not ready":    {tc.status, pod("other", false), Waiting, "1 of 5 pods"},
		"the job has succeeded":   {`message: ElasticJob elastic has succeeded., conditions: [{type: Succeeded, status: "True"}]`, pod("other", true), Training, ""},
		"the job has not started": {"", pod("other", true), Waiting, "its pods to be created"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &read.Workload{
				Objects: []*unstructured.Unstructured{object(t, appWrapper), object(t, elasticJob(c.status))}, Pods: append(tc.pods[:len(tc.pods):len(tc.pods)], c.other),
			}
			if s := Of(w, now); s.State != c.want || s.WaitsFor != c.waits || s.Workers != 5 {
				t.Errorf("%s, %q with %d workers; want %s, %q with 5", s.State, s.WaitsFor, s.Workers, c.want, c.waits)
			}
		})
	}
}
