//go:build envtest

package jobset

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// The tests act as the Job controller and the garbage collector, which are not running.

// create creates a JobSet in the namespace of the test.
func (w *world) create(js *wrappers.JobSet) *v1alpha2.JobSet {
	w.Helper()
	created := js.Namespace(w.Namespace).Obj()
	w.OK(w.Create(w.Context(), created))
	return created
}

func (w *world) jobSet(name string) *v1alpha2.JobSet {
	w.Helper()
	var js v1alpha2.JobSet
	w.OK(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &js))
	return &js
}

// change patches a JobSet, as a user would.
func (w *world) change(name string, change func(*v1alpha2.JobSet)) {
	w.Helper()
	js := w.jobSet(name)
	changed := js.DeepCopy()
	change(changed)
	w.OK(w.Patch(w.Context(), changed, client.MergeFrom(js)))
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
	w.OK(w.List(w.Context(), &list, client.InNamespace(w.Namespace)))
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

func (w *world) job(name string) *batchv1.Job {
	w.Helper()
	var job batchv1.Job
	w.OK(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &job))
	return &job
}

// jobNames returns each Job with its attempt, and marks Jobs that are being deleted: "a-w-0@0 a-w-1@0-".
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

// awaitJobs waits for exactly these Jobs, in the format of jobNames.
func (w *world) awaitJobs(want ...string) {
	w.Helper()
	w.Eventually(func() string { return sandbox.Differs("jobs", strings.Join(want, " "), w.jobNames()) })
}

// awaitCondition waits for "Type=Status/Reason".
func (w *world) awaitCondition(name, want string) {
	w.Helper()
	kind, _, _ := strings.Cut(want, "=")
	w.Eventually(func() string {
		return sandbox.Differs("condition", want, sandbox.ConditionOf(w.jobSet(name).Status.Conditions, kind))
	})
}

// ready makes the Job's pod running and ready.
func (w *world) ready(name string) {
	w.Helper()
	w.playJob(name, sandbox.JobReady(1))
}

func (w *world) succeed(name string) {
	w.Helper()
	w.playJob(name, sandbox.JobSucceeded)
}

func (w *world) fail(name string) {
	w.Helper()
	w.playJob(name, sandbox.JobFailed)
}

// stopPods updates the status of a suspended Job as the Job controller does if the Job was running.
func (w *world) stopPods(name string) {
	w.Helper()
	w.playJob(name, sandbox.JobStopped)
}

func (w *world) playJob(name string, change func(*batchv1.JobStatus)) {
	w.Helper()
	job := w.job(name)
	played := job.DeepCopy()
	if played.Status.StartTime == nil {
		played.Status.StartTime = ptr.To(metav1.Now())
	}
	change(&played.Status)
	w.OK(w.Status().Patch(w.Context(), played, client.MergeFrom(job)))
}

// collect removes Jobs in foreground deletion, as the garbage collector does once their pods are gone.
func (w *world) collect(names ...string) {
	w.Helper()
	for _, name := range names {
		job := w.job(name)
		if job.DeletionTimestamp.IsZero() {
			w.Fatalf("job %s is not being deleted", name)
		}
		released := job.DeepCopy()
		released.Finalizers = nil
		w.OK(w.Patch(w.Context(), released, client.MergeFrom(job)))
	}
}
