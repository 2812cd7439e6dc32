package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	panics "sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/failures"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// budget is what finding out may take: a pod waits for it.
const budget = 500 * time.Millisecond

// Handler answers for pods.
type Handler struct {
	// Client reads nodes from the cache.
	Client client.Reader
	Owners *owners.Resolver
	// Failed are pods that have failed of late, which nobody may have written down yet.
	Failed *failures.Index
	Clock  clock.PassiveClock
	Config settings.Rescheduling
	// Count the answers.
	Count func(result string)
}

// Results that are counted.
const (
	Unchanged = "unchanged"
	Excluded  = "excluded"
	Unknown   = "unknown" // it could not be found out
)

// Handle lets every pod through, whatever happens here: what the library answers to a panic is a refusal, which a failurePolicy does not turn.
func (h *Handler) Handle(ctx context.Context, request admission.Request) (response admission.Response) {
	defer func() {
		if problem := recover(); problem != nil {
			panics.WebhookPanics.WithLabelValues().Inc()
			log.FromContext(ctx).Error(fmt.Errorf("panic: %v", problem), "A pod is admitted without exclusions", "namespace", request.Namespace, "stack", string(debug.Stack()))
			h.Count(Unknown)
			response = admission.Allowed("")
		}
	}()
	return h.answer(ctx, request)
}

func (h *Handler) answer(ctx context.Context, request admission.Request) admission.Response {
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		h.Count(Unknown)
		return admission.Allowed("")
	}
	pod.Namespace = request.Namespace
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	hosts, err := h.hosts(ctx, &pod)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("A pod is admitted without exclusions", "namespace", pod.Namespace, "error", err.Error())
		h.Count(Unknown)
		return admission.Allowed("")
	case len(hosts) == 0 || h.Config.DryRun:
		h.Count(Unchanged)
		return admission.Allowed("")
	}
	h.Count(Excluded)
	return admission.Patched("", h.patch(ctx, &pod, hosts)...)
}

// hosts that the pod is to be kept away from. Empty: none.
func (h *Handler) hosts(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	if placement.Placed(pod) || pod.Spec.NodeName != "" || slices.Contains(h.Config.ExcludedNamespaces, pod.Namespace) {
		return nil, nil
	}
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind == "DaemonSet" || ref.Kind == "Node" {
		return nil, nil
	}
	chain, err := h.Owners.Of(ctx, pod)
	if err != nil || len(chain) == 0 {
		return nil, err
	}
	if _, asked, _ := chain.Retries(); !asked && h.Config.DefaultRetries == 0 {
		return nil, nil
	}
	return h.excluded(ctx, pod, chain)
}

func (h *Handler) excluded(ctx context.Context, pod *corev1.Pod, chain owners.Chain) ([]string, error) {
	nodes, err := h.nodes(ctx)
	if err != nil {
		return nil, err
	}
	now, slot, most := h.Clock.Now(), owners.Slot(pod), min(memory.MaxHosts, nodes.most())
	m := memory.Read(chain.Root().Annotations)
	if chain.OneTemplate(pod) {
		m = m.For(owners.Template(pod))
	}
	var hosts []string
	if !m.Exhausted && !now.Before(m.RelaxedUntil) {
		hosts = h.Failed.Nodes(chain.Direct().UID, slot, now)
	}
	hosts = slices.DeleteFunc(hosts, func(node string) bool { return nodes[node] == nil })
	hosts = hosts[max(0, len(hosts)-most):] // the latest
	for _, node := range m.Longest(most-len(hosts), slot, now, nodes.current) {
		if !slices.Contains(hosts, node) {
			hosts = append(hosts, node)
		}
	}
	slices.Sort(hosts)
	return hosts, nil
}

// index of the nodes by name.
type index map[string]*corev1.Node

func (h *Handler) nodes(ctx context.Context) (index, error) {
	var list corev1.NodeList
	if err := h.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	nodes := make(index, len(list.Items))
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	return nodes, nil
}

func (x index) current(name string) (uid string, exists bool) {
	node := x[name]
	if node == nil {
		return "", false
	}
	return string(node.UID), true
}

// Shares of the nodes that one pod may be kept away from.
const (
	fewest    = 5 // in a small cluster
	mostShare = 5 // a fifth
)

func (x index) most() int { return max(fewest, len(x)/mostShare) }

// takes tells whether a node is left for the pod.
func (x index) takes(pod *corev1.Pod, without []string) bool {
	for name, node := range x {
		if !slices.Contains(without, name) && placement.Fits(pod, node) {
			return true
		}
	}
	return false
}
