package appwrapper

import (
	"context"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// labelIndex indexes pods by the name of their AppWrapper.
const labelIndex = "holdfast.appwrapper"

// CacheOptions limits the cache to the pods of AppWrappers, the Jobs of JobSets, and nodes, each with only the fields that the controller
// reads. Jobs are watched only once there is an AppWrapper with a JobSet.
func CacheOptions() cache.Options {
	kept := podcache.Strip(stripPod)
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      kept.NewInformer,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:  {Label: podcache.HasLabel(v1beta2.AppWrapperLabel), Transform: kept.Transform},
			&batchv1.Job{}: {Label: podcache.HasLabel(jobSetName), Transform: podcache.Each(stripJob)},
			&corev1.Node{}: {Transform: podcache.Each(podcache.StripNode)},
		},
	}
}

// WrappedCacheOptions configures the cache of wrapped objects, whose kinds are not known in advance.
func WrappedCacheOptions(scheme *runtime.Scheme, mapper meta.RESTMapper) cache.Options {
	return cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultLabelSelector: podcache.HasLabel(v1beta2.AppWrapperLabel), DefaultTransform: stripWrapped,
	}
}

func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1.Pod{}, labelIndex, func(o client.Object) []string {
		return []string{o.GetLabels()[v1beta2.AppWrapperLabel]}
	}); err != nil {
		return err
	}
	return podcache.IndexByNode(ctx, indexer)
}

func stripPod(full *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: full.TypeMeta, ObjectMeta: trimMeta(full.ObjectMeta)}
	if sent, found := full.Annotations[recovering.Annotation]; found {
		pod.Annotations = map[string]string{recovering.Annotation: sent}
	}
	pod.Spec.NodeName = full.Spec.NodeName
	pod.Spec.Resources = requested(&full.Spec)
	pod.Status = corev1.PodStatus{
		Phase: full.Status.Phase, Reason: full.Status.Reason,
		ContainerStatuses: trimStatuses(full.Status.ContainerStatuses), InitContainerStatuses: trimStatuses(full.Status.InitContainerStatuses),
	}
	return pod
}

// stripWrapped drops the pod specs in templates. The controller reads only metadata, replica counts and status of wrapped objects.
func stripWrapped(o any) (any, error) {
	if full, ok := o.(*unstructured.Unstructured); ok {
		dropPodSpecs(full.Object)
	}
	return cache.TransformStripManagedFields()(o)
}

func dropPodSpecs(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			dropPodSpecs(item)
		}
	case map[string]any:
		maps.DeleteFunc(value, func(_ string, field any) bool {
			spec, _ := field.(map[string]any)
			return spec["containers"] != nil
		})
		for _, field := range value {
			dropPodSpecs(field)
		}
	}
}

// stripJob keeps only the fields that determine how many pods of a Job should be active.
func stripJob(full *batchv1.Job) *batchv1.Job {
	return &batchv1.Job{
		TypeMeta: full.TypeMeta, ObjectMeta: trimMeta(full.ObjectMeta),
		Spec:   batchv1.JobSpec{Parallelism: full.Spec.Parallelism, Completions: full.Spec.Completions},
		Status: batchv1.JobStatus{Succeeded: full.Status.Succeeded, CompletionTime: full.Status.CompletionTime},
	}
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.ManagedFields, m.Annotations = nil, nil
	return m
}

// requested returns the names of the requested resources, without their quantities.
func requested(spec *corev1.PodSpec) *corev1.ResourceRequirements {
	requests := corev1.ResourceList{}
	for name := range pods.Requests(spec) {
		requests[name] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return &corev1.ResourceRequirements{Requests: requests}
}

// trimStatuses keeps only the exit codes and termination times of containers, and the health of their devices.
func trimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		k := corev1.ContainerStatus{Name: s.Name, AllocatedResourcesStatus: s.AllocatedResourcesStatus}
		if t := s.State.Terminated; t != nil {
			k.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, FinishedAt: t.FinishedAt}
		}
		if k.State.Terminated != nil || len(k.AllocatedResourcesStatus) > 0 {
			kept = append(kept, k)
		}
	}
	return kept
}

// appWrapperChanged reports whether an update of an AppWrapper affects decisions. Changes to condition messages and component statuses do
// not: the controller writes both itself, and its own writes must not trigger another reconcile.
func appWrapperChanged(e event.UpdateEvent) bool {
	return !equality.Semantic.DeepEqual(relevant(e.ObjectOld.(*v1beta2.AppWrapper)), relevant(e.ObjectNew.(*v1beta2.AppWrapper)))
}

// relevant returns the part of an AppWrapper that affects decisions. The generation stands for the spec.
func relevant(aw *v1beta2.AppWrapper) *v1beta2.AppWrapper {
	kept := &v1beta2.AppWrapper{ObjectMeta: aw.ObjectMeta, Status: *aw.Status.DeepCopy()}
	kept.ResourceVersion, kept.Status.ComponentStatus = "", nil
	for i := range kept.Status.Conditions {
		kept.Status.Conditions[i].Message = ""
	}
	return kept
}

func requestOf(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[v1beta2.AppWrapperLabel]}}}
}

func podChanged(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
	return before.UID != after.UID || before.Status.Phase != after.Status.Phase || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !slices.Equal(before.Finalizers, after.Finalizers) ||
		len(signals.UnhealthyDevices(&before.Status)) != len(signals.UnhealthyDevices(&after.Status))
}
