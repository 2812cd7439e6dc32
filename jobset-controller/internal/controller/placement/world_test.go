//go:build envtest

package placement

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/controller/jobset"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/apiserver"
)

var cluster *rest.Config

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	config, stop, err := apiserver.Start("../../../config/crd/bases")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cluster = config
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	os.Exit(code)
}

const rack = "example.com/rack"

// world is a cluster with the controller in it. The tests play the Job controller and the scheduler. The webhook is not there:
// tests create pods as it makes them.
type world struct {
	*testing.T
	client.Client
	events chan string
	job    *batchv1.Job
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{T: t, events: make(chan string, 100)}
	var err error
	if w.Client, err = client.New(cluster, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme: scheme, Cache: jobset.CacheOptions(), Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	w.ok(err)
	w.ok(AddIndexes(t.Context(), mgr.GetFieldIndexer()))
	w.ok(New(Options{Client: mgr.GetClient(), Recorder: w}).Register(mgr, 2))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	w.createJob()
	return w
}

func (w *world) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	w.events <- reason + ": " + fmt.Sprintf(note, args...)
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) createJob() {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "placement-"}}
	w.ok(w.Create(w.Context(), ns))
	w.job = &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "a-w-0", Namespace: ns.Name, Labels: map[string]string{v1alpha2.JobSetNameKey: "a"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}
	w.ok(w.Create(w.Context(), w.job))
}

// node makes a node in a rack; without a rack it has no label.
func (w *world) node(name, in string) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if in != "" {
		node.Labels = map[string]string{rack: in}
	}
	w.ok(w.Create(w.Context(), node))
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
	w.ok(w.Create(w.Context(), pod))
	return pod
}

// bind does what the scheduler does.
func (w *world) bind(pod *corev1.Pod, node string) {
	w.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	w.ok(w.SubResource("binding").Create(w.Context(), pod, binding))
}

// eventually waits until check has no complaint.
func (w *world) eventually(check func() string) {
	w.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(complaint)
		}
	}
}
