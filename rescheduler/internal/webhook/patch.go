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

// patch adds one annotation, and touches no other; and node affinity, where the pod's scheduler does not read the annotation.
// What the pod has of the annotation itself counts too, within the bounds.
func (h *Handler) patch(ctx context.Context, pod *corev1.Pod, hosts []string) []jsonpatch.Operation {
	value := memory.FormatHosts(memory.MergeHosts(hosts, memory.Hosts(pod.Annotations)))
	operations := []jsonpatch.Operation{annotate(pod, value)}
	all, err := h.Nodes.List(ctx)
	if err != nil || !takes(all, pod, hosts) {
		return operations // with no other node it would not run at all: the plugin knows how to give way, affinity does not
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

// escape a key for a JSON pointer.
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

const affinityPath = "/spec/affinity"

// require adds the narrowest part of the affinity that is not there yet.
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
