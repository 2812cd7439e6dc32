//go:build envtest

package appwrapper

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// The tests stand in for the Job controller, the kubelet and the garbage collector, which do not run.

// create creates an AppWrapper in the test's namespace.
func (w *world) create(aw *wrappers.AppWrapper) *v1beta2.AppWrapper {
	w.Helper()
	created := aw.Namespace(w.Namespace).Obj()
	status := created.Status.DeepCopy()
	w.OK(w.Create(w.Context(), created))
	if status.Phase != "" {
		created.Status = *status
		w.OK(w.Status().Update(w.Context(), created))
	}
	return created
}

func (w *world) get(name string) *v1beta2.AppWrapper {
	w.Helper()
	var aw v1beta2.AppWrapper
	w.OK(w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &aw))
	return &aw
}

// change patches an AppWrapper as a user would.
func (w *world) change(name string, change func(*v1beta2.AppWrapper)) {
	w.Helper()
	aw := w.get(name)
	changed := aw.DeepCopy()
	change(changed)
	w.OK(w.Patch(w.Context(), changed, client.MergeFrom(aw)))
}

func (w *world) suspend(name string, to bool) {
	w.Helper()
	w.change(name, func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend = to })
}

func (w *world) awaitPhase(name string, want v1beta2.AppWrapperPhase) *v1beta2.AppWrapper {
	w.Helper()
	var aw *v1beta2.AppWrapper
	w.Eventually(func() string {
		aw = w.get(name)
		return sandbox.Differs("phase", string(want), string(aw.Status.Phase))
	})
	return aw
}

// awaitCondition waits for "Type=Status/Reason".
func (w *world) awaitCondition(name, want string) {
	w.Helper()
	kind, _, _ := strings.Cut(want, "=")
	w.Eventually(func() string {
		return sandbox.Differs("condition", want, sandbox.ConditionOf(w.get(name).Status.Conditions, kind))
	})
}

func (w *world) message(name, kind string) string {
	if c := meta.FindStatusCondition(w.get(name).Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

func (w *world) job(name string) *batchv1.Job {
	w.Helper()
	var job batchv1.Job
	w.Eventually(func() string {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, &job); err != nil {
			return err.Error()
		}
		return ""
	})
	return &job
}

// awaitNewJob waits for a Job other than the one given.
func (w *world) awaitNewJob(old *batchv1.Job) *batchv1.Job {
	w.Helper()
	var job *batchv1.Job
	w.Eventually(func() string {
		if job = w.job(old.Name); job.UID == old.UID {
			return "the Job has not been recreated"
		}
		return ""
	})
	return job
}

// finishJob gives a Job a terminal condition, as the Job controller would.
func (w *world) finishJob(job *batchv1.Job, kind batchv1.JobConditionType) {
	w.Helper()
	played := job.DeepCopy()
	if kind == batchv1.JobComplete {
		sandbox.JobSucceeded(&played.Status)
		played.Status.Succeeded, played.Status.CompletedIndexes = *job.Spec.Completions, "" // it has no indexes
	} else {
		sandbox.JobFailed(&played.Status)
	}
	w.OK(w.Status().Update(w.Context(), played))
}

// pods creates pods of a Job in a phase, with the labels of its template.
func (w *world) pods(job *batchv1.Job, phase corev1.PodPhase, names ...string) []*corev1.Pod {
	w.Helper()
	var made []*corev1.Pod
	for _, name := range names {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.Namespace, Labels: job.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}, Spec: *job.Spec.Template.Spec.DeepCopy()}
		pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
		w.OK(w.Create(w.Context(), pod))
		w.podPhase(pod, phase)
		made = append(made, pod)
	}
	return made
}

func (w *world) podPhase(pod *corev1.Pod, phase corev1.PodPhase, codes ...int32) {
	w.Helper()
	w.OK(w.Get(w.Context(), client.ObjectKeyFromObject(pod), pod))
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = nil
	for _, code := range codes {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: "worker", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}})
	}
	w.OK(w.Status().Update(w.Context(), pod))
}

// sweep deletes all pods of the namespace immediately, as the garbage collector and the kubelet eventually do.
func (w *world) sweep() {
	w.Helper()
	w.OK(w.DeleteAllOf(w.Context(), &corev1.Pod{}, client.InNamespace(w.Namespace), client.GracePeriodSeconds(0)))
}

// running creates an AppWrapper with one Job and running pods.
func (w *world) running(aw *wrappers.AppWrapper, job string, pods ...string) *batchv1.Job {
	w.Helper()
	name := aw.Name
	w.create(aw)
	made := w.job(job)
	w.awaitPhase(name, v1beta2.Running)
	w.pods(made, corev1.PodRunning, pods...)
	w.awaitCondition(name, "PodsReady=True/SufficientPodsReady")
	return made
}
