//go:build envtest

package app

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// A controller may replace a failed pod before its node is recorded. In this test the real controllers do so, and the scheduler binds the
// replacement immediately, to the bad node if that is allowed.
func TestReplacementAvoidsNode(t *testing.T) {
	for name, c := range map[string]struct {
		workload func(w *world) client.Object
		root     client.Object
		due      []string // schedules of a CronJob: each of them creates another Job immediately
	}{
		"ReplicaSet": {func(w *world) client.Object {
			return &appsv1.ReplicaSet{ObjectMeta: w.meta("w"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: w.template()}}
		}, &appsv1.ReplicaSet{}, nil},
		"Deployment": {func(w *world) client.Object {
			return &appsv1.Deployment{ObjectMeta: w.meta("w"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: w.template()}}
		}, &appsv1.Deployment{}, nil},
		"StatefulSet": {func(w *world) client.Object {
			return &appsv1.StatefulSet{ObjectMeta: w.meta("w"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: selector, Template: w.template()}}
		}, &appsv1.StatefulSet{}, nil},
		"Job": {func(w *world) client.Object {
			template := w.template()
			template.Spec.RestartPolicy = corev1.RestartPolicyNever
			return &batchv1.Job{ObjectMeta: w.meta("w"), Spec: batchv1.JobSpec{Template: template}}
		}, &batchv1.Job{}, nil},
		"CronJob": {func(w *world) client.Object {
			template := w.template()
			template.Spec.RestartPolicy = corev1.RestartPolicyNever
			return &batchv1.CronJob{ObjectMeta: w.meta("w"), Spec: batchv1.CronJobSpec{
				Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
			}}
		}, &batchv1.CronJob{}, []string{"0 0 1 1 *", "30 0 1 1 *"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.onBad(func() *corev1.PodStatus { return rejects("UnexpectedAdmissionError") })
			w.ok(w.Create(t.Context(), c.workload(w)))
			for i := range max(1, len(c.due)) {
				if len(c.due) > 0 {
					w.isDue(c.due[i])
				}
				w.eventually("the replacement does not run on the good node", w.runningOnGood(i+1))
				if got := w.boundTo(w.bad); len(got) != 1 {
					t.Errorf("pods that were bound to the bad node: %v", got)
				}
				w.eventually("the failure is not recorded on the workload", func() bool {
					w.ok(w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "w"}, c.root))
					m := memory.Read(c.root.GetAnnotations())
					return m.Times == 1 && len(m.Entries) == 1 && m.Entries[0].Node == w.bad && m.Entries[0].NodeUID != ""
				})
				w.replacementIsAnnotated()
			}
		})
	}
}

// isDue gives the CronJob a yearly schedule. Its last run was two years ago, so a Job is overdue and the controller creates it
// immediately. The controller reconciles when the status changes, but not when the schedule does.
func (w *world) isDue(schedule string) {
	w.Helper()
	job := &batchv1.CronJob{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "w"}, job))
	before := job.DeepCopy()
	job.Spec.Schedule = schedule
	w.ok(w.Patch(w.Context(), job, client.MergeFrom(before)))
	before = job.DeepCopy()
	job.Status.LastScheduleTime = ptr.To(metav1.NewTime(time.Now().AddDate(-2, 0, 0)))
	w.ok(w.Status().Patch(w.Context(), job, client.MergeFrom(before)))
}

// replacementIsAnnotated checks that the replacement has the annotation in addition to those of the template.
func (w *world) replacementIsAnnotated() {
	w.Helper()
	for _, pod := range w.pods(w.Context()) {
		if pod.Spec.NodeName != w.good {
			continue
		}
		if got := memory.Hosts(pod.Annotations); len(got) != 1 || got[0] != w.bad {
			w.Errorf("the replacement avoids %v", got)
		}
		if pod.Annotations["theirs"] != "kept" {
			w.Errorf("the annotations of the template are %v", pod.Annotations)
		}
	}
}

// A scheduler with the plugin also keeps replacements off the bad node, without node affinity.
func TestReplacementAvoidsNodeWithPlugin(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) { r.Enforcement.SchedulerNames = []string{corev1.DefaultSchedulerName} })
	w.plugin = true
	w.onBad(func() *corev1.PodStatus { return rejects("TopologyAffinityError") })
	w.ok(w.Create(t.Context(), &appsv1.Deployment{ObjectMeta: w.meta("w"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: selector, Template: w.template()}}))
	w.eventually("the replacements do not run on the good node", w.runningOnGood(3))
	for _, pod := range w.pods(t.Context()) {
		if pod.Spec.Affinity != nil {
			t.Errorf("pod %s has affinity %v", pod.Name, pod.Spec.Affinity)
		}
	}
}
