//go:build envtest

package replacement

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// The Job's selector matches the pod. The API server keeps the finalizer and the owner, and rejects a second pod with
// the same name.
func TestPodBelongsToTheJob(t *testing.T) {
	cluster, c := apiserver.ForTest(t, scheme.Scheme, "../../../../charts/jobset-controller/files/crds")
	ctx := t.Context()
	j := job(func(j *batchv1.Job) {
		j.Namespace, j.UID = "default", ""
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		j.Spec.Template.Spec.InitContainers[0].Image = "a"
		j.Spec.Template.Spec.Containers[0].Image = "b"
	})
	if err := c.Create(ctx, j); err != nil {
		t.Fatal(err)
	}
	serviceAccount(ctx, t, kubernetes.NewForConfigOrDie(cluster))
	pod := Pod(j, 2, "1", "5", "lost")
	if err := c.Create(ctx, pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, pod.DeepCopy()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second leader's pod: %v", err)
	}
	live := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(pod), live); err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(live.Labels)) {
		t.Errorf("the Job's selector %v does not match %v (%v)", j.Spec.Selector, live.Labels, err)
	}
	if owner := metav1.GetControllerOf(live); owner == nil || owner.UID != j.UID {
		t.Errorf("owner %+v", owner)
	}
	if diff := cmp.Diff([]string{batchv1.JobTrackingFinalizer}, live.Finalizers); diff != "" {
		t.Errorf("finalizers:\n%s", diff)
	}
	if live.Spec.Hostname != j.Name+"-2" {
		t.Errorf("hostname %q", live.Spec.Hostname)
	}
}

// serviceAccount creates the service account that the API server requires, because no controller creates it in this
// test.
func serviceAccount(ctx context.Context, t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err := kube.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}
