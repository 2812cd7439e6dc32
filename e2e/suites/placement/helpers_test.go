//go:build e2e && e2e_all

package placement

import (
	"context"
	"errors"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// namespace creates a namespace for the test, and removes its JobSets at the end.
func namespace(t *testing.T, name string) string {
	t.Helper()
	ns := "jobset-" + name
	if err := shared.Namespace(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeJobSets(t, ns) })
	return ns
}

func removeJobSets(t *testing.T, ns string) {
	ctx := context.Background()
	if err := shared.Client.DeleteAllOf(ctx, &v1alpha2.JobSet{}, client.InNamespace(ns), client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		t.Error(err)
	}
	err := framework.Until(ctx, "no JobSet is left", func(ctx context.Context) error {
		var left v1alpha2.JobSetList
		if err := shared.Client.List(ctx, &left, client.InNamespace(ns)); err != nil || len(left.Items) == 0 {
			return err
		}
		return fmt.Errorf("%s is left", left.Items[0].Name)
	})
	if err != nil {
		t.Error(err)
	}
}

// share is the CPU request of each pod.
const share = "500m"

// entry returns a replicatedJob whose pods sleep on simulated nodes.
func entry(name string, jobs, pods int32, waitsFor ...v1alpha2.DependsOn) v1alpha2.ReplicatedJob {
	return v1alpha2.ReplicatedJob{
		Name: name, Replicas: jobs, DependsOn: waitsFor,
		Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Parallelism: &pods, Completions: &pods, CompletionMode: ptr.To(batchv1.IndexedCompletion),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                 corev1.RestartPolicyNever,
				TerminationGracePeriodSeconds: ptr.To[int64](0),
				NodeSelector:                  map[string]string{kubelet.TypeLabel: kubelet.Type},
				Tolerations:                   []corev1.Toleration{kubelet.Toleration()},
				Containers: []corev1.Container{{
					Name: "worker", Image: "worker", Command: []string{"train"},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(share)}},
				}},
			}},
		}},
	}
}

func create(t *testing.T, ns, name string, change func(*v1alpha2.JobSet), entries ...v1alpha2.ReplicatedJob) {
	t.Helper()
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}, Spec: v1alpha2.JobSetSpec{ReplicatedJobs: entries}}
	change(js)
	// The webhooks of a manager that has just started may not respond immediately.
	await(t, "JobSet "+name+" is created", func(ctx context.Context) error { return shared.Client.Create(ctx, js) })
}

func await(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	if err := framework.Until(t.Context(), what, ask); err != nil {
		t.Fatal(err)
	}
}

// jobs returns the Jobs of a JobSet by name.
func jobs(ctx context.Context, ns, jobSet string) (map[string]*batchv1.Job, error) {
	var list batchv1.JobList
	if err := shared.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{v1alpha2.JobSetNameKey: jobSet}); err != nil {
		return nil, err
	}
	all := map[string]*batchv1.Job{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all, nil
}

// ready returns a check that exactly the named Jobs exist and all their pods are ready.
func ready(ns, jobSet string, names ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		all, err := jobs(ctx, ns, jobSet)
		if err != nil {
			return err
		}
		if len(all) != len(names) {
			return fmt.Errorf("there are %d Jobs, want %v", len(all), names)
		}
		for _, name := range names {
			job := all[name]
			if job == nil {
				return fmt.Errorf("there is no %s", name)
			}
			if job.Status.CompletionTime == nil && ptr.Deref(job.Status.Ready, 0) != *job.Spec.Parallelism {
				return fmt.Errorf("%s: suspend %v, %d active, %d ready", name, *job.Spec.Suspend, job.Status.Active, ptr.Deref(job.Status.Ready, 0))
			}
		}
		return nil
	}
}

// podsOf returns the pods of a Job that are not being deleted.
func podsOf(ctx context.Context, ns, job string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := shared.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{batchv1.JobNameLabel: job}); err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// succeed makes all pods of a Job succeed.
func succeed(t *testing.T, ns, job string) {
	t.Helper()
	await(t, "the pods of "+job+" end", func(ctx context.Context) error {
		pods, err := podsOf(ctx, ns, job)
		if err != nil || len(pods) == 0 {
			return errors.Join(err, errors.New("there are none"))
		}
		for _, pod := range pods {
			if pod.Status.Phase != corev1.PodSucceeded {
				_ = simulation.Exit(types.NamespacedName{Namespace: ns, Name: pod.Name}, "", 0)
				return fmt.Errorf("%s is %s", pod.Name, pod.Status.Phase)
			}
		}
		return nil
	})
}
