//go:build envtest

package elasticjob

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// For the manifest in the design document, the operator creates the pods, services and conditions that the document
// lists.
func TestManifestOfTheSeed(t *testing.T) {
	w := newWorld(t)
	w.create(example(t, "classy-vision-job"))
	job := w.reaches("classy-vision-job", v1alpha1.StateRunning, 3)
	pod := w.worker("classy-vision-job", 0)
	labels := map[string]string{"job-name": "classy-vision-job", "group-name": "elastic.pytorch.org", "replica-index": "0", "replica-type": "worker"}
	if diff := cmp.Diff(labels, pod.Labels); diff != "" {
		t.Error(diff)
	}
	env := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	for name, want := range map[string]string{
		"RDZV_ENDPOINT": "etcd-service:2379", "JOB_ID": "classy-vision-job", "SIZE": "3", "MIN_SIZE": "2", "MAX_SIZE": "5",
		"PET_NNODES": "2:5", "PET_RDZV_BACKEND": "etcd", "PET_RDZV_ENDPOINT": "etcd-service:2379", "PET_RDZV_ID": string(job.UID),
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if !metav1.IsControlledBy(pod, job) || pod.Spec.RestartPolicy != corev1.RestartPolicyNever || len(pod.Spec.Containers[0].Args) != 5 {
		t.Errorf("owners %v, restart policy %s, arguments %q", pod.OwnerReferences, pod.Spec.RestartPolicy, pod.Spec.Containers[0].Args)
	}
	service := &corev1.Service{}
	w.ok(w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "classy-vision-job-worker-2"}, service))
	labels["replica-index"] = "2"
	if diff := cmp.Diff(labels, service.Spec.Selector); diff != "" || service.Spec.ClusterIP != corev1.ClusterIPNone || !service.Spec.PublishNotReadyAddresses {
		t.Errorf("service %+v %s", service.Spec, diff)
	}
	if c := condition(job, v1alpha1.JobCreated); c.Status != metav1.ConditionTrue || c.Reason != "ElasticJobCreated" || c.Message != "job classy-vision-job is created." {
		t.Errorf("%+v", c)
	}
	if c := condition(job, v1alpha1.JobRunning); c.Status != metav1.ConditionTrue || c.Reason != "ElasticJobRunning" || c.Message != "ElasticJob classy-vision-job is running." {
		t.Errorf("%+v", c)
	}
	if c := condition(job, v1alpha1.JobFailed); c.Type != "" || job.Status.StartTime == nil {
		t.Errorf("%+v, started %s", c, job.Status.StartTime)
	}
	w.heard("Normal SuccessfulCreatePod: Created pod: classy-vision-job-worker-0", "Normal SuccessfulCreateService: Created service: classy-vision-job-worker-1")
}

// The API server accepts each example unchanged and without unknown fields.
func TestExamplesAreAccepted(t *testing.T) {
	w := newWorld(t)
	files, err := filepath.Glob("../../../../examples/elastic/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v %v", files, err)
	}
	strict := client.WithFieldValidation(w.Client, metav1.FieldValidationStrict)
	for _, file := range files {
		if filepath.Base(file) == "autoscaler.yaml" {
			autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
			w.ok(yaml.UnmarshalStrict(must(os.ReadFile(file)), autoscaler))
			autoscaler.Namespace = w.namespace
			w.ok(strict.Create(t.Context(), autoscaler))
			continue
		}
		job := example(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		job.Namespace = w.namespace
		w.ok(strict.Create(t.Context(), job))
		w.eventually(func() string {
			if w.get(job.Name).Status.State == "" {
				return file + " is not reconciled"
			}
			return ""
		})
	}
}

func example(t *testing.T, name string) *v1alpha1.ElasticJob {
	t.Helper()
	content, err := os.ReadFile("../../../../examples/elastic/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	job := &v1alpha1.ElasticJob{}
	if err := yaml.UnmarshalStrict(content, job); err != nil {
		t.Fatal(err)
	}
	return job
}

func TestScalingThroughTheSubresource(t *testing.T) {
	w := newWorld(t)
	job := w.create(MakeElasticJob("a").Workers(1, 2, 5).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	first := w.worker("a", 0).UID
	scale := &autoscalingv1.Scale{}
	w.ok(w.SubResource("scale").Get(t.Context(), job, scale))
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 2 || scale.Status.Selector != "group-name=elastic.pytorch.org,job-name=a,replica-type=worker" {
		t.Errorf("scale %+v %+v", scale.Spec, scale.Status)
	}
	scaleTo := func(n int32) error {
		return w.SubResource("scale").Update(t.Context(), job, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
		}))
	}
	w.ok(scaleTo(4))
	w.reaches("a", v1alpha1.StateRunning, 4)
	w.ok(scaleTo(1))
	w.reaches("a", v1alpha1.StateRunning, 1)
	w.eventually(func() string {
		if names := w.podNames(); !slices.Equal(names, []string{"a-worker-0"}) {
			return fmt.Sprint("pods ", names)
		}
		var services corev1.ServiceList
		w.ok(w.List(t.Context(), &services, client.InNamespace(w.namespace)))
		if len(services.Items) != 1 {
			return fmt.Sprint(len(services.Items), " services")
		}
		return ""
	})
	if w.worker("a", 0).UID != first {
		t.Error("the remaining worker was replaced")
	}
	if err := scaleTo(6); err == nil || !strings.Contains(err.Error(), "must not be larger than maxReplicas") {
		t.Errorf("more than max: %v", err)
	}
}

// An autoscaler has tainted one node. The taint on the other node does not affect these workers.
func TestWorkersOnDrainingNodesAreRemovedFirst(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 3, 3).With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	}).Obj())
	w.reaches("a", v1alpha1.StateRunning, 3)
	w.stop() // so that the next controller observes the taints before it decides
	w.taint(0)
	w.taint(1, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
	w.taint(2, corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule})
	w.start()
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.ReplicaSpecs.Worker.Replicas = ptr.To(int32(2)) })
	w.reaches("a", v1alpha1.StateRunning, 2)
	if left := w.get("a").Status.Indexes; left != "0,2" {
		t.Errorf("the remaining workers are %s", left)
	}
}

func TestTerminatedWorkersAreReplaced(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 3, 3).Obj())
	w.reaches("a", v1alpha1.StateRunning, 3)
	failed := w.end("a", 1, 1)
	w.replaced("a", 1, failed)
	job := w.reaches("a", v1alpha1.StateRunning, 3)
	w.heard("Normal ExitedWithCode: Pod: "+w.namespace+".a-worker-1 exited with code 1", "Warning ElasticJobRestarting: ElasticJob a is restarting because 1 Worker replica(s) failed.")
	if job.Status.Restarts != 1 || job.Status.Disruptions != 0 {
		t.Errorf("restarts %d, disruptions %d", job.Status.Restarts, job.Status.Disruptions)
	}
	w.replaced("a", 2, w.end("a", 2, 1, evicted))
	job = w.reaches("a", v1alpha1.StateRunning, 3)
	if job.Status.Restarts != 1 || job.Status.Disruptions != 1 {
		t.Errorf("restarts %d, disruptions %d", job.Status.Restarts, job.Status.Disruptions)
	}
	deleted := w.worker("a", 0)
	w.ok(w.Delete(t.Context(), deleted))
	w.replaced("a", 0, deleted.UID)
	w.reaches("a", v1alpha1.StateRunning, 3)
}

// While the annotation is set, other recovery levels, such as an AppWrapper around the job, leave the job alone.
func TestRecoveringAnnotation(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.hold("a", 1)
	before := time.Now()
	w.end("a", 1, 1)
	w.eventually(func() string {
		said, found := recovering.Of(w.get("a").Annotations)
		if !found || said.Level != recovering.LevelElastic || !said.Live(before.Add(time.Minute)) {
			return fmt.Sprintf("the annotation is %+v", said)
		}
		return ""
	})
	w.release("a", 1)
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.eventually(func() string {
		if said, found := recovering.Of(w.get("a").Annotations); found {
			return fmt.Sprintf("the annotation is %+v", said)
		}
		return ""
	})
}

func TestWorkerOnALostNodeIsReplaced(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"the node is not ready for too long": func(w *world) { w.setReady(1, corev1.ConditionUnknown, timeAgo(65)) },
		"the node is deleted": func(w *world) {
			w.ok(w.Delete(w.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node(1)}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(MakeElasticJob("a").Workers(1, 3, 3).Obj())
			w.reaches("a", v1alpha1.StateRunning, 3)
			old := w.worker("a", 1).UID
			w.kill(1)
			lose(w)
			if pod := w.replaced("a", 1, old); pod.Spec.NodeName == w.node(1) {
				t.Error("the replacement is on the lost node")
			}
			job := w.reaches("a", v1alpha1.StateRunning, 3)
			if job.Status.Disruptions != 1 || job.Status.Restarts != 0 {
				t.Errorf("disruptions %d, restarts %d", job.Status.Disruptions, job.Status.Restarts)
			}
		})
	}
}

func TestNodeThatIsBrieflyNotReadyIsNotLost(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	old := w.worker("a", 1).UID
	w.setReady(1, corev1.ConditionFalse, timeAgo(5))
	w.always(func() string {
		if pod := w.worker("a", 1); pod.UID != old || pod.DeletionTimestamp != nil {
			return "the worker was replaced"
		}
		return ""
	})
}

func TestJobFailsBelowItsMinimum(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(2, 3, 5).Restart(v1alpha1.RestartNever).Settle(1).Obj())
	w.reaches("a", v1alpha1.StateRunning, 3)
	w.end("a", 0, 1)
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.end("a", 1, 1)
	job := w.reaches("a", v1alpha1.StateFailed, 1)
	if c := condition(job, v1alpha1.JobFailed); c.Reason != "ElasticJobFailed" || c.Message != "ElasticJob a is failed because 2 workers replica(s) failed." {
		t.Errorf("%+v", c)
	}
	if c := condition(job, v1alpha1.JobRunning); c.Status != metav1.ConditionFalse || c.Message != "ElasticJob a is running." {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(v1alpha1.ReplicaStatus{Active: 1, Failed: 2}, job.Status.ReplicaStatuses.Worker); diff != "" || job.Status.CompletionTime == nil {
		t.Errorf("%s completed %s", diff, job.Status.CompletionTime)
	}
	w.heard("Warning TooFewWorkers", "Normal ElasticJobFailed: ElasticJob a is failed because 2 Worker replica(s) failed.")
	if got := len(w.podNames()); got != 3 {
		t.Errorf("%d pods are left, want all, which are kept for their logs", got)
	}
}

func TestCompletedPodsAreKept(t *testing.T) {
	for policy, left := range map[v1alpha1.CleanPodPolicy]int{v1alpha1.CleanAll: 0, v1alpha1.CleanRunning: 1, v1alpha1.CleanNone: 2} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.create(MakeElasticJob("a").Workers(1, 2, 2).With(func(j *v1alpha1.ElasticJob) {
				j.Spec.SuccessPolicy, j.Spec.NestedRunPolicy = &v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAny}, &v1alpha1.RunPolicy{CleanPodPolicy: ptr.To(policy)}
			}).Obj())
			w.reaches("a", v1alpha1.StateRunning, 2)
			w.end("a", 1, 0)
			active := int32(0)
			if policy == v1alpha1.CleanNone {
				active = 1
			}
			job := w.reaches("a", v1alpha1.StateSucceeded, active)
			w.eventually(func() string {
				if names := w.podNames(); len(names) != left {
					return fmt.Sprint("pods ", names)
				}
				return ""
			})
			if job.Status.ReplicaStatuses.Worker.Succeeded != 1 || job.Status.CompletionTime == nil {
				t.Errorf("%+v", job.Status)
			}
		})
	}
}

func TestSuspendResumeAndTheNextRendezvous(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = true })
	job := w.reaches("a", v1alpha1.StateSuspended, 0)
	if c := condition(job, v1alpha1.JobSuspended); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	w.eventually(func() string {
		if names := w.podNames(); len(names) > 0 {
			return fmt.Sprint(names)
		}
		return ""
	})
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = false })
	job = w.reaches("a", v1alpha1.StateRunning, 2)
	if job.Status.Disruptions+job.Status.Restarts != 0 {
		t.Errorf("%+v", job.Status)
	}
	for _, v := range w.worker("a", 0).Spec.Containers[0].Env {
		if v.Name == "PET_RDZV_ID" && v.Value != string(job.UID)+"-1" {
			t.Errorf("run ID %s", v.Value)
		}
	}
}

func TestQueuedJobStartsNoPodBeforeItIsAdmitted(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 3, 3).Queue("q").Obj())
	job := w.reaches("a", v1alpha1.StateSuspended, 0)
	if !strings.Contains(job.Status.Message, "queue q") {
		t.Error(job.Status.Message)
	}
	w.always(func() string { return strings.Join(w.podNames(), ",") })
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.GrantedReplicas = ptr.To(int32(2)) })
	w.reaches("a", v1alpha1.StateRunning, 2)
}

func TestDeadlineAndTTL(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ActiveDeadlineSeconds, j.Spec.TTLSecondsAfterFinished = ptr.To(int64(1)), ptr.To(int32(2))
	}).Obj())
	job := w.reaches("a", v1alpha1.StateFailed, 0)
	if c := condition(job, v1alpha1.JobFailed); c.Reason != "DeadlineExceeded" {
		t.Errorf("%+v", c)
	}
	w.eventually(func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(job), job); err == nil {
			return "the job still exists"
		}
		return ""
	})
}

func TestJobOfAnotherControllerIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }).Obj())
	w.create(MakeElasticJob("b").Obj())
	w.reaches("b", v1alpha1.StateRunning, 2)
	if job := w.get("a"); len(job.Status.Conditions) != 0 {
		t.Errorf("%+v", job.Status)
	}
}
