package webhook

import (
	"context"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// patch returns operations that add the annotation, and node affinity if the pod's scheduler does not read the annotation. It keeps the
// nodes that the pod's own annotation names, within the limits. It changes nothing else.
func (h *Handler) patch(ctx context.Context, pod *corev1.Pod, hosts []string) []jsonpatch.Operation {
	value := memory.FormatHosts(memory.MergeHosts(hosts, memory.Hosts(pod.Annotations)))
	operations := []jsonpatch.Operation{annotate(pod, value)}
	all, err := h.Nodes.List(ctx)
	if err != nil || !takes(all, pod, hosts) {
		return operations // with affinity the pod would not run at all; the plugin can drop exclusions
	}
	if h.Config.Enforcement.Mode(pod.Spec.SchedulerName) == settings.Required {
		return append(operations, require(pod, hosts))
	}
	return operations
}

func annotate(pod *corev1.Pod, value string) jsonpatch.Operation {
	if pod.Annotations == nil {
		return jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{memory.HostsAnnotation: value})
	}
	return jsonpatch.NewOperation("add", "/metadata/annotations/"+escape(memory.HostsAnnotation), value)
}

// escape escapes a key for a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

const affinityPath = "/spec/affinity"

// require returns the operation that adds the smallest missing part of the affinity.
func require(pod *corev1.Pod, hosts []string) jsonpatch.Operation {
	a := pod.Spec.Affinity
	switch {
	case a == nil:
		return jsonpatch.NewOperation("add", affinityPath, corev1.Affinity{NodeAffinity: required(nil, hosts)})
	case a.NodeAffinity == nil:
		return jsonpatch.NewOperation("add", affinityPath+"/nodeAffinity", required(nil, hosts))
	}
	selector := placement.Avoid(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, hosts)
	return jsonpatch.NewOperation("add", affinityPath+"/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution", selector)
}

func required(selector *corev1.NodeSelector, hosts []string) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: placement.Avoid(selector, hosts)}
}
