package rescheduling

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
)

// ownerIndex indexes pods by the UID of their controller.
const ownerIndex = "holdfast.controller"

// CacheOptions limits the cache to the fields of pods, nodes and owners that are needed for decisions. With many pods, the other fields
// would use most of the memory. If no namespaces are given, all are cached.
func CacheOptions(namespaces ...string) cache.Options {
	only := map[string]cache.Config{}
	for _, name := range namespaces {
		only[name] = cache.Config{}
	}
	pods := podcache.Strip(stripPod)
	return cache.Options{
		DefaultNamespaces: only,
		DefaultTransform:  cache.TransformStripManagedFields(),
		NewInformer:       pods.NewInformer,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:  {Transform: pods.Transform},
			&corev1.Node{}: {Transform: podcache.Each(stripNode)},
		},
	}
}

// AddIndexes adds the indexes that this package's List calls use.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, ownerIndex, indexByOwner)
}

func indexByOwner(o client.Object) []string {
	if uid := owners.ControllerUID(o); uid != "" {
		return []string{string(uid)}
	}
	return nil
}

func byOwner(uid types.UID) client.ListOption { return client.MatchingFields{ownerIndex: string(uid)} }

// kept lists the prefixes of the pod annotations that the controller reads.
var kept = []string{
	"holdfast.dev/", "sigs.k8s.io/", "kueue.x-k8s.io/", "batch.kubernetes.io/", "scheduling.k8s.io/", "kubernetes.io/config.mirror",
	"descheduler.alpha.kubernetes.io/", memory.RetriesAnnotation,
}

// stripPod returns a copy of the pod with only the fields needed to make decisions.
func stripPod(full *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: full.TypeMeta, ObjectMeta: full.ObjectMeta}
	pod.Annotations = some(full.Annotations)
	spec := full.Spec
	pod.Spec = corev1.PodSpec{
		NodeName: spec.NodeName, NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations,
		SchedulerName: spec.SchedulerName, PriorityClassName: spec.PriorityClassName, RestartPolicy: spec.RestartPolicy,
		SchedulingGroup: spec.SchedulingGroup, SchedulingGates: spec.SchedulingGates, Resources: memoryLimit(spec.Resources),
		Containers: each(spec.Containers, signals.Marks), InitContainers: each(spec.InitContainers, signals.Marks),
	}
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
				Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: v.PersistentVolumeClaim},
			})
		}
	}
	status := full.Status
	pod.Status = corev1.PodStatus{
		Phase: status.Phase, Reason: status.Reason, Message: status.Message, StartTime: status.StartTime, Conditions: decisive(status.Conditions),
		ContainerStatuses: each(status.ContainerStatuses, state), InitContainerStatuses: each(status.InitContainerStatuses, state),
	}
	return pod
}

// memoryLimit returns only the memory limit of the pod as a whole.
func memoryLimit(r *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if r == nil || r.Limits.Memory().IsZero() {
		return nil
	}
	return &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: *r.Limits.Memory()}}
}

func some(annotations map[string]string) map[string]string {
	var out map[string]string
	for key, value := range annotations {
		if slices.ContainsFunc(kept, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// each returns the elements with only the fields that strip keeps.
func each[T any](all []T, strip func(T) T) []T {
	out := make([]T, 0, len(all))
	for _, one := range all {
		out = append(out, strip(one))
	}
	return out
}

// decisive returns the conditions that the controller reads.
func decisive(all []corev1.PodCondition) []corev1.PodCondition {
	read := []corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.DisruptionTarget}
	out := make([]corev1.PodCondition, 0, len(read))
	for _, c := range all {
		if slices.Contains(read, c.Type) {
			out = append(out, c)
		}
	}
	return slices.Clip(out)
}

func state(s corev1.ContainerStatus) corev1.ContainerStatus {
	slim := corev1.ContainerStatus{
		Name: s.Name, State: s.State, LastTerminationState: s.LastTerminationState, Ready: s.Ready, RestartCount: s.RestartCount,
		AllocatedResourcesStatus: s.AllocatedResourcesStatus,
	}
	slim.State.Terminated, slim.LastTerminationState.Terminated = terse(s.State.Terminated), terse(s.LastTerminationState.Terminated)
	return slim
}

// terse drops the termination message of a container.
func terse(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if t == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Signal: t.Signal, Reason: t.Reason, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
}

func stripNode(full *corev1.Node) *corev1.Node {
	node := podcache.StripNode(full)
	node.Annotations = some(full.Annotations)
	return node
}
