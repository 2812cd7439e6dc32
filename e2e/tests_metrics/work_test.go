//go:build e2e

package tests_metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/simulated"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const workerImage = "localhost/holdfast/worker:dev"

// What the programs are given to do, beside what a failure is.

// finish has all workers of a JobSet succeed.
func finish(t *testing.T, js *v1alpha2.JobSet) {
	t.Helper()
	all, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	for _, w := range all {
		must(t, lab.Until(t.Context(), w.ID+" has begun", func(ctx context.Context) error { return shared.HasBegun(ctx, w) }))
		_, err := shared.Signal(t.Context(), w, unix.SIGUSR2)
		must(t, err)
	}
	must(t, lab.Until(t.Context(), js.Name+" is complete", func(ctx context.Context) error {
		now, err := shared.JobSet(ctx, ns, js.Name)
		if err == nil && now.Status.TerminalState != "Completed" {
			err = fmt.Errorf("its state is %q", now.Status.TerminalState)
		}
		return err
	}))
}

// trainElastically has one ElasticJob lose a worker, and another one succeed.
func trainElastically(t *testing.T) {
	t.Helper()
	runs := elasticJob(t, "elastic")
	awaitActive(t, runs, 3)
	pod := &corev1.Pod{}
	must(t, k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "elastic-worker-1"}, pod))
	must(t, lab.Until(t.Context(), pod.Name+" has begun", func(ctx context.Context) error {
		return shared.HasBegun(ctx, lab.Worker{Namespace: ns, Pod: pod.Name})
	}))
	_, err := shared.SignalContainer(t.Context(), string(pod.UID), "worker", unix.SIGUSR1)
	must(t, err)
	must(t, lab.Until(t.Context(), "another pod runs in its place", func(ctx context.Context) error {
		now := &corev1.Pod{}
		err := k8s.Get(ctx, client.ObjectKeyFromObject(pod), now)
		if err == nil && (now.UID == pod.UID || now.Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("it is %s", now.Status.Phase)
		}
		return err
	}))
	elasticJob(t, "short", corev1.EnvVar{Name: "WORKER_STEPS", Value: "1"})
}

func elasticJob(t *testing.T, name string, env ...corev1.EnvVar) *v1alpha1.ElasticJob {
	t.Helper()
	job := &v1alpha1.ElasticJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: v1alpha1.ElasticJobSpec{
			RdzvEndpoint: "none:2379", MinReplicas: ptr.To[int32](2), MaxReplicas: ptr.To[int32](4),
			ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{
				Replicas: ptr.To[int32](3), RestartPolicy: v1alpha1.RestartExitCode,
				Template: v1alpha1.PodTemplate{PodTemplateSpec: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullIfNotPresent, Env: env,
				}}}}},
			}},
		},
	}
	must(t, k8s.Create(t.Context(), job))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), job) })
	return job
}

func awaitActive(t *testing.T, job *v1alpha1.ElasticJob, n int32) {
	t.Helper()
	must(t, lab.Until(t.Context(), fmt.Sprintf("%d workers of %s run", n, job.Name), func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(job), job)
		if err == nil && job.Status.State != v1alpha1.StateRunning {
			err = fmt.Errorf("it is %s", job.Status.State)
		}
		return err
	}))
}

// leaveTheNode has a Deployment whose pod is out of memory where it would rather be, and runs on a simulated node.
func leaveTheNode(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "moves"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "moves", Annotations: map[string]string{"schedulingRetries": "3"}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](1), Tolerations: []corev1.Toleration{simulated.Toleration()},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: simulated.TypeLabel, Operator: corev1.NodeSelectorOpDoesNotExist,
					}}},
				}}}},
				Containers: []corev1.Container{{
					Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullIfNotPresent, Env: []corev1.EnvVar{{Name: "WORKER_MEMORY_MIB", Value: "256"}},
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}},
				}},
			},
		}},
	}
	must(t, k8s.Create(t.Context(), d))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), d) })
	must(t, lab.Until(t.Context(), "the pod runs on another node", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := k8s.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels(labels)); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if strings.HasPrefix(pod.Spec.NodeName, fleet) && pod.Status.Phase == corev1.PodRunning {
				return nil
			}
		}
		return errors.New("it does not")
	}))
}

// meet does what the agents of two workers do at the rendezvous server, in etcd's language: they complete a round.
func meet(t *testing.T) {
	t.Helper()
	const state = `{"status":"final","version":"1","participants":[0,1],"keep_alives":[],"num_workers_waiting":0}`
	form := url.Values{"value": {state}}.Encode()
	must(t, lab.Until(t.Context(), "the rendezvous server takes the state of a round", func(ctx context.Context) error {
		to := "http://" + address(rendezvousPort) + "/v2/keys/torchelastic/p2p/run_train/rdzv/active_version"
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, to, strings.NewReader(form))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if body, _ := io.ReadAll(answer.Body); answer.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("%s: %s", answer.Status, body)
		}
		return nil
	}))
}
