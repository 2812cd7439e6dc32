// Package webhook adds the nodes to avoid to new pods in namespaces with managed workloads. It reads from caches, except for owners that
// are too new to be cached. It admits every pod, and omits exclusions that it cannot determine in time.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	panics "sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// budget limits how long an admission may take, because the pod is waiting for it.
const budget = 500 * time.Millisecond

// Handler handles admission requests for pods.
type Handler struct {
	Nodes  *nodes.Lister
	Owners *owners.Resolver
	// Failed holds pods that failed recently and may not be in the failure history yet.
	Failed *Failures
	// Leads reports whether this process is the leader. The leader writes the failure histories, so it has them before they are in the cache.
	Leads  func() bool
	Clock  clock.PassiveClock
	Config settings.Rescheduling
	// Count counts the results.
	Count func(result string)
}

// Results that are passed to Count.
const (
	Unchanged = "unchanged"
	Excluded  = "excluded"
	Unknown   = "unknown" // could not be determined
)

// Handle admits every pod, even after a panic. If it did not recover, the library would reject the request, regardless of the
// failurePolicy.
func (h *Handler) Handle(ctx context.Context, request admission.Request) (response admission.Response) {
	response = admission.Allowed("")
	defer func() {
		if problem := recover(); problem != nil {
			panics.WebhookPanics.WithLabelValues().Inc()
			log.FromContext(ctx).Error(fmt.Errorf("panic: %v", problem), "Admitting pod without exclusions", "namespace", request.Namespace, "stack", string(debug.Stack()))
			h.Count(Unknown)
		}
	}()
	var pod corev1.Pod
	if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
		h.Count(Unknown)
		return response
	}
	pod.Namespace = request.Namespace
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	hosts, err := h.hosts(limited, &pod)
	switch {
	case err != nil:
		log.FromContext(ctx).V(1).Info("Admitting pod without exclusions", "namespace", pod.Namespace, "error", err.Error())
		h.Count(Unknown)
	case len(hosts) == 0 || h.Config.DryRun:
		h.Count(Unchanged)
	default:
		h.Count(Excluded)
		response = admission.Patched("", h.patch(limited, &pod, hosts)...)
	}
	return response
}

// hosts returns the nodes that the pod must avoid, or none.
func (h *Handler) hosts(ctx context.Context, pod *corev1.Pod) ([]string, error) {
	if placement.Placed(pod) || pod.Spec.NodeName != "" || !h.Config.Manages(pod.Namespace) {
		return nil, nil
	}
	if ref := metav1.GetControllerOf(pod); ref == nil || ref.Kind == "DaemonSet" || ref.Kind == "Node" {
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
	now, slot := h.Clock.Now(), owners.Slot(pod)
	m := h.remembered(ctx, chain)
	if chain.OneTemplate(pod) {
		m = m.For(owners.Template(pod))
	}
	var hosts []string
	if !m.Exhausted && !now.Before(m.RelaxedUntil) {
		hosts = h.Failed.nodes(chain.Direct().UID, slot, now)
	}
	if len(hosts) == 0 && len(m.Exclusions(memory.MaxHosts, slot, now, nil)) == 0 {
		return nil, nil // most pods return here, without a list of the nodes
	}
	all, err := h.Nodes.List(ctx)
	if err != nil {
		return nil, err
	}
	most := min(memory.MaxHosts, max(fewest, len(all.All)/mostShare))
	hosts = slices.DeleteFunc(hosts, func(node string) bool { return all.Get(node) == nil })
	hosts = hosts[max(0, len(hosts)-most):] // keep the latest
	for _, node := range m.Exclusions(most-len(hosts), slot, now, all.UID) {
		if !slices.Contains(hosts, node) {
			hosts = append(hosts, node)
		}
	}
	slices.Sort(hosts)
	return hosts, nil
}

// remembered returns the failure history of the root owner. The controller evicts the pod as soon as it has written the history, possibly
// in another process. A process that is not the leader therefore reads the history from the API server, which has the write by then.
func (h *Handler) remembered(ctx context.Context, chain owners.Chain) memory.Memory {
	root := chain.Root()
	if !h.Leads() {
		fresh, err := h.Owners.Live(ctx, root)
		if err != nil {
			log.FromContext(ctx).V(1).Info("Failed to read the owner live, using the cache", "error", err.Error())
		} else if fresh.UID == root.UID {
			root = fresh
		}
	}
	return memory.Read(root.Annotations)
}

// Limits on the number of nodes that one pod may avoid.
const (
	fewest    = 5 // in a small cluster
	mostShare = 5 // divisor of the number of nodes
)

// patch returns operations that add the annotation, and node affinity if the pod's scheduler does not read the annotation. It keeps the
// nodes in the pod's own annotation, within the limits. It changes nothing else.
func (h *Handler) patch(ctx context.Context, pod *corev1.Pod, hosts []string) []jsonpatch.Operation {
	value := memory.FormatHosts(memory.MergeHosts(hosts, memory.Hosts(pod.Annotations)))
	operations := []jsonpatch.Operation{annotate(pod, value)}
	all, err := h.Nodes.List(ctx)
	if err != nil || !placement.FitsAny(pod, all.All, hosts) {
		return operations // with affinity the pod could not run at all, whereas the plugin can drop exclusions
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
	return jsonpatch.NewOperation("add", memory.HostsPath, value)
}

// require returns the operation that adds the node affinity, or the whole affinity if the pod has none.
func require(pod *corev1.Pod, hosts []string) jsonpatch.Operation {
	after := pod.DeepCopy()
	placement.Exclude(&after.Spec, hosts)
	if pod.Spec.Affinity == nil {
		return jsonpatch.NewOperation("add", "/spec/affinity", after.Spec.Affinity)
	}
	return jsonpatch.NewOperation("add", "/spec/affinity/nodeAffinity", after.Spec.Affinity.NodeAffinity)
}

// +kubebuilder:webhook:path=/mutate-v1-pod,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=pods.rescheduler.holdfast.dev,admissionReviewVersions=v1,serviceName=rescheduler-webhook-service,timeoutSeconds=2,reinvocationPolicy=IfNeeded
// +kubebuilder:webhookconfiguration:mutating=true,name=rescheduler-mutating-webhook-configuration

// Register adds the handler to the manager's webhook server.
func Register(mgr ctrl.Manager, h *Handler) {
	mgr.GetWebhookServer().Register("/mutate-v1-pod", &admission.Webhook{Handler: h})
}

// Counter returns a function that counts a handler's results. Each counter starts at 0.
func Counter(registerer prometheus.Registerer) func(result string) {
	answers := meter.NewCounters(registerer, series.Admissions)
	answers.Zero(series.Admissions, Unchanged, Excluded, Unknown)
	return func(result string) { answers.Inc(series.Admissions, result) }
}
