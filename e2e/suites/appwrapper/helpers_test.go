//go:build e2e

package appwrapper

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

// bench is the namespace of a test.
type bench struct{ *suites.Namespace }

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{suites.NewNamespace(t, k8s, "e2e-appwrapper-")}
}

func (b *bench) get(name string) *v1beta2.AppWrapper {
	b.Helper()
	aw := &v1beta2.AppWrapper{}
	b.Until(name+" is read", func(ctx context.Context) error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: b.NS, Name: name}, aw)
	})
	return aw
}

func (b *bench) awaitPhase(name string, phase v1beta2.AppWrapperPhase) *v1beta2.AppWrapper {
	b.Helper()
	var aw *v1beta2.AppWrapper
	b.Until(name+" is "+string(phase), func(context.Context) error {
		aw = b.get(name)
		if aw.Status.Phase != phase {
			return fmt.Errorf("it is %s: %+v", aw.Status.Phase, aw.Status.Conditions)
		}
		return nil
	})
	return aw
}

func (b *bench) awaitCondition(name string, kind v1beta2.AppWrapperCondition, status metav1.ConditionStatus) {
	b.Helper()
	b.Until(fmt.Sprintf("%s of %s is %s", kind, name, status), func(context.Context) error {
		aw := b.get(name)
		if !meta.IsStatusConditionPresentAndEqual(aw.Status.Conditions, string(kind), status) {
			return fmt.Errorf("in phase %s its conditions are %+v", aw.Status.Phase, aw.Status.Conditions)
		}
		return nil
	})
}

func (b *bench) awaitReady(name string) {
	b.Helper()
	b.awaitCondition(name, v1beta2.PodsReady, metav1.ConditionTrue)
}

// load reads an example.
func (b *bench) load(file string) *v1beta2.AppWrapper {
	b.Helper()
	content, err := os.ReadFile(shared.File("examples", "appwrapper", file))
	b.OK(err)
	aw := &v1beta2.AppWrapper{}
	b.OK(yaml.UnmarshalStrict(content, aw))
	aw.Namespace = b.NS
	return aw
}

// create creates an AppWrapper, retrying on errors. The webhook may respond late, and a request that timed out may
// still have succeeded.
func (b *bench) create(aw *v1beta2.AppWrapper) {
	b.Helper()
	b.Until(aw.Name+" is created", func(ctx context.Context) error {
		if err := k8s.Create(ctx, aw.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	})
}

// worker returns an AppWrapper around a Job with one worker that runs until it is stopped.
func (b *bench) worker(name string, changes ...func(*batchv1.Job)) *v1beta2.AppWrapper {
	b.Helper()
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: ptr.To[int32](1), Parallelism: ptr.To[int32](1), BackoffLimit: ptr.To[int32](0),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](1),
				Containers: []corev1.Container{{
					Name: "worker", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				}},
			}},
		},
	}
	for _, change := range changes {
		change(job)
	}
	raw, err := json.Marshal(job)
	b.OK(err)
	return &v1beta2.AppWrapper{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.NS, Annotations: map[string]string{
			v1beta2.RetryPausePeriodKey: "1s", v1beta2.FailureGracePeriodKey: "1s", v1beta2.RetryLimitKey: "2",
		}},
		Spec: v1beta2.AppWrapperSpec{Components: []v1beta2.AppWrapperComponent{{Template: runtime.RawExtension{Raw: raw}}}},
	}
}

// endsAfter makes the worker succeed after the given number of steps.
func endsAfter(steps int) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WORKER_STEPS", Value: fmt.Sprint(steps)}}
	}
}

// failsAfter makes the Job fail after the given time.
func failsAfter(seconds int64) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = &seconds }
}

func needsGPU(job *batchv1.Job) {
	job.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
}

// patch changes the latest version of an object.
func patch[T client.Object](b *bench, object T, change func(T)) {
	b.Helper()
	b.OK(k8s.Get(b.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(T)
	change(object)
	b.OK(k8s.Patch(b.Context(), object, client.MergeFrom(before)))
}
