//go:build e2e

package metrics

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const workerImage = "localhost/holdfast/worker:dev"

// Work for the programs other than failures.

// finish makes all workers of a JobSet succeed.
func finish(t *testing.T, js *v1alpha2.JobSet) {
	t.Helper()
	all, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	for _, w := range all {
		must(t, framework.Until(t.Context(), w.ID+" has begun", func(ctx context.Context) error { return shared.HasBegun(ctx, w) }))
		_, err := shared.Signal(t.Context(), w, unix.SIGUSR2)
		must(t, err)
	}
	must(t, framework.Until(t.Context(), js.Name+" is complete", func(ctx context.Context) error {
		now, err := shared.JobSet(ctx, ns, js.Name)
		if err == nil && now.Status.TerminalState != "Completed" {
			err = fmt.Errorf("its state is %q", now.Status.TerminalState)
		}
		return err
	}))
}

// trainElastically makes one ElasticJob lose a worker, and another one succeed.
func trainElastically(t *testing.T) {
	t.Helper()
	runs := elasticJob(t, "elastic")
	awaitActive(t, runs, 3)
	pod := &corev1.Pod{}
	must(t, k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "elastic-worker-1"}, pod))
	must(t, framework.Until(t.Context(), pod.Name+" has begun", func(ctx context.Context) error {
		return shared.HasBegun(ctx, framework.Worker{Namespace: ns, Pod: pod.Name})
	}))
	_, err := shared.SignalContainer(t.Context(), string(pod.UID), "worker", unix.SIGUSR1)
	must(t, err)
	must(t, framework.Until(t.Context(), "another pod runs in its place", func(ctx context.Context) error {
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
	must(t, framework.Until(t.Context(), fmt.Sprintf("%d workers of %s run", n, job.Name), func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(job), job)
		if err == nil && job.Status.State != v1alpha1.StateRunning {
			err = fmt.Errorf("it is %s", job.Status.State)
		}
		return err
	}))
}

// leaveTheNode creates a Deployment whose pod prefers a real node, where its liveness probe fails repeatedly. It then
// runs on a simulated node, where no kubelet probes it.
func leaveTheNode(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "moves"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "moves", Annotations: map[string]string{"schedulingRetries": "3"}},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](1), Tolerations: []corev1.Toleration{kubelet.Toleration()},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: kubelet.TypeLabel, Operator: corev1.NodeSelectorOpDoesNotExist,
					}}},
				}}}},
				Containers: []corev1.Container{{
					Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullIfNotPresent,
					LivenessProbe: &corev1.Probe{
						ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(1)}},
						PeriodSeconds: 1, FailureThreshold: 1,
					},
				}},
			},
		}},
	}
	must(t, k8s.Create(t.Context(), d))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), d) })
	must(t, framework.Until(t.Context(), "the pod runs on another node", func(ctx context.Context) error {
		var pods corev1.PodList
		if err := k8s.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels(labels)); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if strings.HasPrefix(pod.Spec.NodeName, simulation) && pod.Status.Phase == corev1.PodRunning {
				return nil
			}
		}
		return errors.New("it is not running on another node")
	}))
}

// runID is the run ID at the rendezvous server.
const runID = "train"

// meet writes the state of a completed round to the rendezvous server, as the last of two agents does.
func meet(t *testing.T) {
	t.Helper()
	state := base64.StdEncoding.EncodeToString([]byte("\x80\x02c__main__\n_RendezvousState\n)\x81}(" +
		pickled("round") + "K\x01" + pickled("complete") + "\x88" + pickled("closed") + "\x89" + pickled("participants") + "}(" +
		pickled("worker-0") + "K\x00" + pickled("worker-1") + "K\x01uub."))
	must(t, framework.Until(t.Context(), "the rendezvous server has the state of a round", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(rendezvousPort))
		if err != nil {
			return err
		}
		defer conn.Close()
		const set, wait = 1, 6                       // operations of TCPStore
		message := []byte{0, 0xCE, 0xF7, 0x85, 0x3C} // the greeting of torch 2.3 and later
		message = sized(append(message, set), "/torch.rendezvous."+runID)
		message = sized(message, state)
		message = binary.LittleEndian.AppendUint64(append(message, wait), 1)
		message = sized(message, "/torch.rendezvous."+runID)
		if _, err := conn.Write(message); err != nil {
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 1)) // the key exists
		return err
	}))
}

// sized appends a text after its length.
func sized(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}

// pickled returns a short text in Python's pickle format.
func pickled(text string) string { return "X" + string([]byte{byte(len(text)), 0, 0, 0}) + text }
