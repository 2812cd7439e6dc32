//go:build envtest

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// world is an API server with the integration. The test acts as Kueue's manager and as the operator.
type world struct {
	*testing.T
	client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue")
	list.Env = append(os.Environ(), "GOWORK=off") // the module is not in the workspace
	dir, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	config, stop, err := apiserver.Start("../../../../charts/elastic-operator/files/crds", filepath.Join(strings.TrimSpace(string(dir)), "config", "components", "crd", "bases"))
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	_ = kueue.AddToScheme(scheme)
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := (Options{WaitForPodsReady: true, Namespaces: labels.Everything()}).Register(ctx, mgr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = stop()
	})
	k8s, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, k8s}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) eventually(check func() string) {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal(complaint)
		}
	}
}

func (w *world) job() *v1alpha1.ElasticJob {
	w.Helper()
	job := &v1alpha1.ElasticJob{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, job))
	return job
}

// report writes a status as the operator would.
func (w *world) report(change func(*v1alpha1.ElasticJobStatus)) {
	w.Helper()
	job := w.job()
	before := job.DeepCopy()
	job.Status.ObservedGeneration, job.Status.Indexes = job.Generation, "0-2"
	change(&job.Status)
	w.ok(w.Status().Patch(w.Context(), job, client.MergeFrom(before)))
}

func (w *world) workload() *kueue.Workload {
	w.Helper()
	var found *kueue.Workload
	w.eventually(func() string {
		var list kueue.WorkloadList
		w.ok(w.List(w.Context(), &list, client.InNamespace("default")))
		if len(list.Items) != 1 {
			return fmt.Sprint(len(list.Items), " workloads")
		}
		found = &list.Items[0]
		return ""
	})
	return found
}

// decide writes a decision as Kueue's manager would.
func (w *world) decide(change func(*kueue.Workload), conditions ...string) {
	w.Helper()
	workload := w.workload()
	before := workload.DeepCopy()
	if change != nil {
		change(workload)
	}
	for _, kind := range conditions {
		meta.SetStatusCondition(&workload.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Test"})
	}
	w.ok(w.Status().Patch(w.Context(), workload, client.MergeFrom(before)))
}

// offer creates a flavor for the nodes of the spot pool, and a job in a queue.
func (w *world) offer(change func(*v1alpha1.ElasticJob)) {
	w.Helper()
	w.ok(w.Create(w.Context(), &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "spot"}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"pool": "spot"}}}))
	w.ok(w.Create(w.Context(), MakeElasticJob("a").Namespace("default").Workers(2, 5, 8).Queue("q").With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
		change(j)
	}).Obj()))
}

// admit admits three workers on nodes of the flavor.
func (w *world) admit() { w.Helper(); w.admitCount(3) }

func (w *world) admitCount(count int32) {
	w.Helper()
	w.decide(func(workload *kueue.Workload) {
		workload.Status.Admission = &kueue.Admission{ClusterQueue: "c", PodSetAssignments: []kueue.PodSetAssignment{{
			Name: "worker", Count: ptr.To(count), Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "spot"},
			ResourceUsage: corev1.ResourceList{"cpu": *resource.NewQuantity(int64(count), resource.DecimalSI)},
		}}}
	}, kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted)
}

func (w *world) awaitCondition(kind string, status metav1.ConditionStatus) {
	w.Helper()
	w.eventually(func() string {
		if workload := w.workload(); !meta.IsStatusConditionPresentAndEqual(workload.Status.Conditions, kind, status) {
			return fmt.Sprintf("%s is not %s: %+v", kind, status, workload.Status.Conditions)
		}
		return ""
	})
}

// A job is submitted to a queue, partially admitted, ready with its minimum, evicted, admitted again and finished.
func TestJobInAQueue(t *testing.T) {
	w := newWorld(t)
	w.offer(func(*v1alpha1.ElasticJob) {})
	workload := w.workload()
	set := workload.Spec.PodSets[0]
	if workload.Spec.QueueName != "q" || set.Count != 5 || *set.MinCount != 2 || set.Name != "worker" {
		t.Errorf("%+v", workload.Spec)
	}
	w.eventually(func() string {
		if !w.job().Spec.Suspend {
			return "a job without quota is not suspended"
		}
		return ""
	})

	w.admit()
	w.eventually(func() string {
		if s := w.job().Spec; s.Suspend || s.GrantedReplicas == nil || *s.GrantedReplicas != 3 || s.ReplicaSpecs.Worker.Template.Spec.NodeSelector["pool"] != "spot" {
			return fmt.Sprintf("not started: %+v", s)
		}
		return ""
	})

	// With two of three workers ready, the job is reported to Kueue as ready, so Kueue does not wait for the third. Without a cache, Kueue's
	// library would terminate the program at this point.
	w.report(func(s *v1alpha1.ElasticJobStatus) { s.State, s.Replicas, s.ReadyReplicas = v1alpha1.StateRunning, 3, 2 })
	w.awaitCondition(kueue.WorkloadPodsReady, metav1.ConditionTrue)

	// A change to replicas does not end the admission.
	job := w.job()
	before := job.DeepCopy()
	job.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(int32(8))
	w.ok(w.Patch(t.Context(), job, client.MergeFrom(before)))
	w.report(func(s *v1alpha1.ElasticJobStatus) { s.CompletedIndexes, s.ReadyReplicas = "2", 1 })
	w.eventually(func() string {
		if r := w.workload().Status.ReclaimablePods; len(r) != 1 || r[0].Count != 1 {
			return fmt.Sprintf("reclaimable pods: %+v", r)
		}
		return ""
	})
	if w.job().Spec.Suspend {
		t.Error("a change to replicas ended the admission")
	}

	// After the eviction the same workload keeps its quota until no pods are left, and keeps its place in the queue. Then it requests the
	// currently desired number of workers.
	w.decide(nil, kueue.WorkloadEvicted)
	w.eventually(func() string {
		if s := w.job().Spec; !s.Suspend || s.GrantedReplicas != nil || len(s.ReplicaSpecs.Worker.Template.Spec.NodeSelector) != 0 {
			return fmt.Sprintf("not stopped: %+v", s)
		}
		return ""
	})
	if !meta.IsStatusConditionTrue(w.workload().Status.Conditions, kueue.WorkloadQuotaReserved) {
		t.Error("the quota is released while pods are running")
	}
	w.report(func(s *v1alpha1.ElasticJobStatus) {
		s.State, s.Replicas, s.ReadyReplicas = v1alpha1.StateSuspended, 0, 0
	})
	w.eventually(func() string {
		if meta.IsStatusConditionTrue(w.workload().Status.Conditions, kueue.WorkloadQuotaReserved) {
			return "the quota is not released although no pods are left"
		}
		return ""
	})
	w.eventually(func() string {
		if s := w.workload().Spec.PodSets[0]; s.Count != 8 {
			return fmt.Sprintf("requests %d workers", s.Count)
		}
		return ""
	})
	if w.workload().UID != workload.UID {
		t.Error("the evicted workload was replaced by another one")
	}

	// The job is admitted again without the completed worker, which is not subtracted a second time. The job keeps running.
	w.decide(func(workload *kueue.Workload) {
		meta.SetStatusCondition(&workload.Status.Conditions, metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionFalse, Reason: "Test"})
	})
	w.admitCount(7)
	w.eventually(func() string {
		if s := w.job().Spec; s.Suspend || s.GrantedReplicas == nil || *s.GrantedReplicas != 8 {
			return fmt.Sprintf("not restarted: %+v", s)
		}
		return ""
	})
	w.report(func(s *v1alpha1.ElasticJobStatus) {
		s.State, s.Indexes, s.Replicas, s.ReadyReplicas = v1alpha1.StateRunning, "0-7", 7, 7
	})
	w.awaitCondition(kueue.WorkloadPodsReady, metav1.ConditionTrue)
	if w.job().Spec.Suspend || w.workload().UID != workload.UID {
		t.Error("the job was stopped after it was admitted again")
	}

	w.report(func(s *v1alpha1.ElasticJobStatus) {
		s.Conditions = []v1alpha1.JobCondition{{Type: v1alpha1.JobFailed, Status: metav1.ConditionTrue, Message: "over"}}
	})
	w.awaitCondition(kueue.WorkloadFinished, metav1.ConditionTrue)
}
