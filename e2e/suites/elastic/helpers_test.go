//go:build e2e

package elastic

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// bench is the namespace of a test.
type bench struct{ *suites.Namespace }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{suites.NewNamespace(t, k8s, "e2e-elastic-")}
}

// job returns an ElasticJob whose workers run until they are asked to stop.
func (b *bench) job(name string, minimum, wanted, maximum int32, changes ...func(*v1alpha1.ElasticJob)) *v1alpha1.ElasticJob {
	job := &v1alpha1.ElasticJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.NS, Name: name},
		Spec: v1alpha1.ElasticJobSpec{
			RdzvEndpoint: "none:2379", MinReplicas: ptr.To(minimum), MaxReplicas: ptr.To(maximum),
			ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{
				Replicas: ptr.To(wanted), RestartPolicy: v1alpha1.RestartExitCode,
				Template: v1alpha1.PodTemplate{PodTemplateSpec: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(1)),
					Containers: []corev1.Container{{
						Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullIfNotPresent,
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("20m")}},
					}},
				}}},
			}},
		},
	}
	for _, change := range changes {
		change(job)
	}
	return job
}

// endsAfter makes the workers succeed after the given number of steps, which take a second each.
func endsAfter(steps int) func(*v1alpha1.ElasticJob) {
	return func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WORKER_STEPS", Value: fmt.Sprint(steps)}}
	}
}

func (b *bench) create(job *v1alpha1.ElasticJob) {
	b.Helper()
	b.OK(k8s.Create(b.Context(), job))
}

func (b *bench) get(name string) *v1alpha1.ElasticJob {
	b.Helper()
	job := &v1alpha1.ElasticJob{}
	b.Until(name+" is read", func(ctx context.Context) error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: b.NS, Name: name}, job)
	})
	return job
}

// await waits until the job is in a state and the given number of workers run.
func (b *bench) await(name string, state v1alpha1.State, active int32) *v1alpha1.ElasticJob {
	b.Helper()
	var job *v1alpha1.ElasticJob
	b.Until(fmt.Sprintf("%s is %s with %d workers", name, state, active), func(context.Context) error {
		job = b.get(name)
		s := job.Status
		if s.State != state || s.ReplicaStatuses.Worker.Active != active || s.ObservedGeneration != job.Generation {
			return fmt.Errorf("it is %s with %d: %s", s.State, s.ReplicaStatuses.Worker.Active, s.Message)
		}
		return nil
	})
	return job
}

func (b *bench) worker(job string, index int) *corev1.Pod {
	b.Helper()
	pod := &corev1.Pod{}
	name := fmt.Sprintf("%s-worker-%d", job, index)
	b.Until(name+" is read", func(ctx context.Context) error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: b.NS, Name: name}, pod)
	})
	return pod
}

// replaced waits until a worker runs in another pod, and logs how long that took.
func (b *bench) replaced(job string, index int, old *corev1.Pod, since time.Time) {
	b.Helper()
	b.Until("worker is replaced", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		err := k8s.Get(ctx, client.ObjectKeyFromObject(old), pod)
		if err != nil || pod.UID == old.UID || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("worker %d is not replaced (%v)", index, err)
		}
		return nil
	})
	b.Logf("worker %d of %s runs again after %s", index, job, time.Since(since).Round(time.Millisecond))
}

// awaitCounted waits until exactly the given numbers of faults are counted. The new pod may exist before that.
func (b *bench) awaitCounted(name string, restarts, disruptions int32) {
	b.Helper()
	b.Until(fmt.Sprintf("%d restarts and %d disruptions are counted", restarts, disruptions), func(context.Context) error {
		if s := b.get(name).Status; s.Restarts != restarts || s.Disruptions != disruptions {
			return fmt.Errorf("restarts %d, disruptions %d", s.Restarts, s.Disruptions)
		}
		return nil
	})
}

// kill sends a signal to a worker's program. It first waits until the program has logged its start, because the program
// does not handle signals before that.
func (b *bench) kill(pod *corev1.Pod, signal unix.Signal) time.Time {
	b.Helper()
	b.Until("the program of "+pod.Name+" has begun", func(ctx context.Context) error {
		return shared.HasBegun(ctx, framework.Worker{Namespace: pod.Namespace, Pod: pod.Name})
	})
	at, err := shared.SignalContainer(b.Context(), string(pod.UID), "worker", signal)
	b.OK(err)
	return at
}

func (b *bench) scale(name string, to int32) {
	b.Helper()
	b.OK(k8s.SubResource("scale").Update(b.Context(), b.get(name), client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.NS}, Spec: autoscalingv1.ScaleSpec{Replicas: to},
	})))
}

func (b *bench) change(name string, change func(*v1alpha1.ElasticJobSpec)) {
	b.Helper()
	job := b.get(name)
	before := job.DeepCopy()
	change(&job.Spec)
	b.OK(k8s.Patch(b.Context(), job, client.MergeFrom(before)))
}

func (b *bench) pods() []corev1.Pod {
	b.Helper()
	var list corev1.PodList
	b.Until("the pods are listed", func(ctx context.Context) error { return k8s.List(ctx, &list, client.InNamespace(b.NS)) })
	return list.Items
}

func (b *bench) awaitNoPods() {
	b.Helper()
	b.Until("no pod is left", func(context.Context) error {
		if n := len(b.pods()); n > 0 {
			return fmt.Errorf("%d pods are left", n)
		}
		return nil
	})
}
