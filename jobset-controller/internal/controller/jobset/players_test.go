//go:build envtest

package jobset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// The tests play the Job controller and the garbage collector, which do not run.

// create creates a JobSet in the namespace of the test.
func (w *world) create(js *wrappers.JobSet) *v1alpha2.JobSet {
	w.Helper()
	created := js.Namespace(w.namespace).Obj()
	w.ok(w.Create(w.Context(), created))
	return created
}

func (w *world) jobSet(name string) *v1alpha2.JobSet {
	w.Helper()
	var js v1alpha2.JobSet
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &js))
	return &js
}

// change patches a JobSet as a user would.
func (w *world) change(name string, change func(*v1alpha2.JobSet)) {
	w.Helper()
	js := w.jobSet(name)
	changed := js.DeepCopy()
	change(changed)
	w.ok(w.Patch(w.Context(), changed, client.MergeFrom(js)))
}

func (w *world) annotate(name, key, value string) {
	w.Helper()
	w.change(name, func(js *v1alpha2.JobSet) { metav1.SetMetaDataAnnotation(&js.ObjectMeta, key, value) })
}

func (w *world) suspend(name string, to bool) {
	w.Helper()
	w.change(name, func(js *v1alpha2.JobSet) { js.Spec.Suspend = &to })
}

func (w *world) jobs() []batchv1.Job {
	w.Helper()
	var list batchv1.JobList
	w.ok(w.List(w.Context(), &list, client.InNamespace(w.namespace)))
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

func (w *world) job(name string) *batchv1.Job {
	w.Helper()
	var job batchv1.Job
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &job))
	return &job
}

// jobNames gives each Job with its attempt, and marks those that are being deleted: "a-w-0@0 a-w-1@0-".
func (w *world) jobNames() string {
	w.Helper()
	var names []string
	for _, job := range w.jobs() {
		name := job.Name + "@" + job.Labels[v1alpha2.RestartsKey]
		if !job.DeletionTimestamp.IsZero() {
			name += "-"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// awaitJobs waits for exactly these Jobs, as jobNames gives them.
func (w *world) awaitJobs(want ...string) {
	w.Helper()
	w.eventually(func() string { return differs("jobs", strings.Join(want, " "), w.jobNames()) })
}

// awaitCondition waits for "Type=Status/Reason".
func (w *world) awaitCondition(name, want string) {
	w.Helper()
	kind, _, _ := strings.Cut(want, "=")
	w.eventually(func() string { return differs("condition", want, conditionOf(w.jobSet(name), kind)) })
}

func conditionOf(js *v1alpha2.JobSet, kind string) string {
	c := meta.FindStatusCondition(js.Status.Conditions, kind)
	if c == nil {
		return kind + " is absent"
	}
	return fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason)
}

func differs(what, want, got string) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s: want %q, got %q", what, want, got)
}

// ready makes the Job's pod run and be ready.
func (w *world) ready(name string) {
	w.Helper()
	w.playJob(name, func(s *batchv1.JobStatus) { s.Active, s.Ready = 1, ptr.To[int32](1) })
}

func (w *world) succeed(name string) {
	w.Helper()
	w.playJob(name, func(s *batchv1.JobStatus) {
		s.Active, s.Ready, s.Terminating = 0, ptr.To[int32](0), ptr.To[int32](0)
		s.Succeeded, s.CompletedIndexes, s.CompletionTime = 1, "0", ptr.To(metav1.Now())
		setJobCondition(s, batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, "CompletionsReached")
		setJobCondition(s, batchv1.JobComplete, corev1.ConditionTrue, "CompletionsReached")
	})
}

func (w *world) fail(name string) {
	w.Helper()
	w.playJob(name, func(s *batchv1.JobStatus) {
		s.Active, s.Ready, s.Terminating, s.Failed = 0, ptr.To[int32](0), ptr.To[int32](0), 1
		setJobCondition(s, batchv1.JobFailureTarget, corev1.ConditionTrue, "BackoffLimitExceeded")
		setJobCondition(s, batchv1.JobFailed, corev1.ConditionTrue, "BackoffLimitExceeded")
	})
}

// stopPods is what the Job controller does with a suspended Job that was started.
func (w *world) stopPods(name string) {
	w.Helper()
	w.playJob(name, func(s *batchv1.JobStatus) {
		s.Active, s.Ready = 0, ptr.To[int32](0)
		setJobCondition(s, batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended")
	})
}

func (w *world) playJob(name string, change func(*batchv1.JobStatus)) {
	w.Helper()
	job := w.job(name)
	played := job.DeepCopy()
	if played.Status.StartTime == nil {
		played.Status.StartTime = ptr.To(metav1.Now())
	}
	change(&played.Status)
	w.ok(w.Status().Patch(w.Context(), played, client.MergeFrom(job)))
}

func setJobCondition(s *batchv1.JobStatus, kind batchv1.JobConditionType, to corev1.ConditionStatus, reason string) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind })
	s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: kind, Status: to, Reason: reason, Message: "played", LastTransitionTime: metav1.Now()})
}

// collect removes Jobs that are being deleted in the foreground, as the garbage collector does when their pods are gone.
func (w *world) collect(names ...string) {
	w.Helper()
	for _, name := range names {
		job := w.job(name)
		if job.DeletionTimestamp.IsZero() {
			w.Fatalf("job %s is not being deleted", name)
		}
		released := job.DeepCopy()
		released.Finalizers = nil
		w.ok(w.Patch(w.Context(), released, client.MergeFrom(job)))
	}
}
