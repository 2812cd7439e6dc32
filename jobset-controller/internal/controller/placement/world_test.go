//go:build envtest

package placement

import (
	"context"
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var cluster *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &cluster, "../../../../charts/jobset-controller/files/crds"))
}

const rack = "example.com/rack"

// world is a namespace with the controller. The tests act as the Job controller and the scheduler. There is no webhook:
// the tests create pods in the form that the webhook would give them.
type world struct {
	*sandbox.Sandbox
	job *batchv1.Job
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Sandbox: sandbox.New(t, cluster, sandbox.Scheme(v1alpha2.AddToScheme), "placement-")}
	w.Start(jobset.CacheOptions(policy.Features{}), func(ctx context.Context, mgr ctrl.Manager) error {
		if err := AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		return New(mgr.GetClient(), w).Register(mgr)
	})
	w.createJob()
	return w
}

func (w *world) createJob() {
	w.Helper()
	w.job = &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "a-w-0", Namespace: w.Namespace, Labels: map[string]string{v1alpha2.JobSetNameKey: "a"}},
		Spec: batchv1.JobSpec{CompletionMode: ptr.To(batchv1.IndexedCompletion), Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](3), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}
	w.OK(w.Create(w.Context(), w.job))
}

// node creates a node in a rack. If the rack is "", the node has no rack label.
func (w *world) node(name, in string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if in != "" {
		node.Labels = map[string]string{rack: in}
	}
	w.OK(w.Create(w.Context(), node))
	w.Cleanup(func() { _ = w.Delete(context.Background(), node) })
}

// pod creates a pod of the Job.
func (w *world) pod(name, index string, change ...func(*corev1.Pod)) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.job.Namespace,
			Labels:          map[string]string{v1alpha2.JobSetNameKey: "a", v1alpha2.JobKey: "k", v1alpha2.PriorityKey: "0"},
			Annotations:     map[string]string{v1alpha2.ExclusiveKey: rack, batchv1.JobCompletionIndexAnnotation: index},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0),
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	w.OK(w.Create(w.Context(), pod))
	return pod
}

// bind binds a pod, as the scheduler does.
func (w *world) bind(pod *corev1.Pod, node string) {
	w.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	w.OK(w.SubResource("binding").Create(w.Context(), pod, binding))
}
