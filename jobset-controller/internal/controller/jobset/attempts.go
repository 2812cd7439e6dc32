package jobset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
)

// podIndex finds pods by the UID of the JobSet that they claim to belong to. Ownership is determined by their Jobs.
const podIndex = "holdfast.jobset-uid"

// NewPods creates a cache of the pods of JobSets for restartStrategy InPlaceRestart, and adds it to the manager. It
// keeps only the data that this strategy reads. It is separate because the manager's own cache contains either no pods
// or different ones. The cost of this cache therefore arises only if the feature is enabled.
func NewPods(ctx context.Context, mgr ctrl.Manager, namespaces map[string]cache.Config) (cache.Cache, error) {
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:        mgr.GetHTTPClient(),
		Scheme:            mgr.GetScheme(),
		Mapper:            mgr.GetRESTMapper(),
		DefaultNamespaces: namespaces,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: podcache.HasLabel(v1alpha2.JobSetNameKey), Transform: podcache.Each(stripAgentPod)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the cache of pods: %w", err)
	}
	uid := func(object client.Object) []string { return []string{object.GetLabels()[v1alpha2.JobSetUIDKey]} }
	if err := pods.IndexField(ctx, &corev1.Pod{}, podIndex, uid); err != nil {
		return nil, fmt.Errorf("indexing pods: %w", err)
	}
	return pods, mgr.Add(pods)
}

// stripAgentPod keeps the pod's owner, what its agent reports, and the status of its containers.
func stripAgentPod(pod *corev1.Pod) *corev1.Pod {
	stripMeta(pod)
	pod.Spec = corev1.PodSpec{}
	pod.Status = corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		InitContainerStatuses: restartCounts(pod.Status.InitContainerStatuses),
		ContainerStatuses:     restartCounts(pod.Status.ContainerStatuses),
	}
	return pod
}

func restartCounts(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	counts := make([]corev1.ContainerStatus, len(statuses))
	for i := range statuses {
		counts[i] = corev1.ContainerStatus{Name: statuses[i].Name, RestartCount: statuses[i].RestartCount}
	}
	return counts
}

// podEvents enqueues the JobSet that a pod claims to belong to.
func podEvents(pods cache.Cache) source.Source {
	return source.Kind(pods, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, pod *corev1.Pod) []reconcile.Request {
		name := pod.Labels[v1alpha2.JobSetNameKey]
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: name}}}
	}))
}

// readAttempts reads the attempts reported by the agents of restartStrategy InPlaceRestart.
func (r *Reconciler) readAttempts(ctx context.Context, s *scope) error {
	if r.Pods == nil || !policy.UsesAttempts(&s.jobSet.Spec) || s.finished() {
		return nil
	}
	var pods corev1.PodList
	err := r.Pods.List(ctx, &pods, client.InNamespace(s.jobSet.Namespace),
		client.MatchingFields{podIndex: string(s.jobSet.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	attempts := policy.ReadAttempts(&s.jobSet.Spec, s.jobs, pods.Items)
	s.attempts = &attempts
	return nil
}

func (s *scope) restartsInPlace() bool { return s.attempts != nil && s.attempts.Restarting() }

// setAttempts sets the attempts that the agents must follow.
func (s *scope) setAttempts(status *v1alpha2.JobSetStatus) {
	if s.attempts == nil {
		return
	}
	status.PreviousInPlaceRestartAttempt, status.CurrentInPlaceRestartAttempt = s.attempts.Next(&s.jobSet.Status, s.suspended())
	if s.restartsInPlace() && !s.suspended() {
		s.setTrue(status, v1alpha2.JobSetRestartingInPlace, warning(v1alpha2.InPlaceAttemptReason, fmt.Sprintf(
			"all pods are restarting in place to join attempt %d", s.attempts.Highest)))
	}
}
