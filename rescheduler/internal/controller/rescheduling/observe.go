package rescheduling

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// scope is the observed state related to one pod.
type scope struct {
	pod   *corev1.Pod
	chain owners.Chain
	// subject is the object that holds the failure history: the root owner, or the bare pod itself.
	subject *metav1.PartialObjectMetadata
	retries int
	// annotated means that the workload sets schedulingRetries itself.
	annotated bool
	matches   []signals.Match
	memory    memory.Memory
	now       time.Time
}

func (s *scope) bare() bool { return len(s.chain) == 0 }

// observe returns the scope of a pod, or nil if the pod is not managed.
func (r *Reconciler) observe(ctx context.Context, pod *corev1.Pod) (*scope, error) {
	if protectedKind(pod) {
		return nil, nil
	}
	s := &scope{pod: pod, now: r.Clock.Now()}
	var err error
	if s.chain, err = r.Owners.Of(ctx, pod); err != nil {
		return nil, err
	}
	for _, owner := range s.chain {
		r.ownership.add(owner.UID, s.chain.Direct().UID)
	}
	orphan := s.bare() && metav1.GetControllerOf(pod) != nil
	if orphan || !r.manages(s) {
		return nil, nil
	}
	if s.bare() {
		s.subject = r.Ledger.Latest(metadataOf(pod))
	} else {
		s.subject = s.chain.Root()
	}
	s.matches = r.match(s)
	s.read()
	return s, nil
}

// manages sets the number of retries, and reports whether the pod is managed.
func (r *Reconciler) manages(s *scope) bool {
	var problem error
	if s.retries, s.annotated, problem = s.chain.Retries(); s.bare() {
		s.retries, s.annotated, problem = memory.Retries(s.pod.Annotations)
	}
	if problem != nil && r.changed(s.pod.UID+"/"+reasonInvalid, reasonInvalid, problem.Error()) {
		r.send(s.pod.DeepCopy(), nil, corev1.EventTypeWarning, reasonInvalid, problem.Error()+"; it is ignored")
	}
	if !s.annotated && !s.bare() && r.Config.DefaultRetries > 0 {
		s.retries = r.Config.DefaultRetries
		return true
	}
	return s.annotated
}

// read reads the failure history from the subject.
func (s *scope) read() {
	if s.bare() {
		s.memory = memory.ReadPod(s.subject.Annotations)
	} else {
		s.memory = memory.Read(s.subject.Annotations)
	}
}

// match returns the signals that the pod matches, and when each of them began.
func (r *Reconciler) match(s *scope) []signals.Match {
	matches := r.table.Matches(s.pod, s.now)
	for _, o := range s.chain {
		if m, found := r.table.Accounted(s.pod, o.Name, o.Annotations[history.Annotation], s.now); found {
			matches = append(matches, m)
		}
	}
	matches = slices.DeleteFunc(matches, func(m signals.Match) bool { return m.Row.Trigger == signals.Annotated && !s.annotated })
	for _, row := range r.table {
		if !slices.ContainsFunc(matches, func(m signals.Match) bool { return m.Row.Name == row.Name }) {
			r.observed.Remove(observationKey{s.pod.UID, row.Name})
		}
	}
	for i := range matches {
		if matches[i].Since.IsZero() {
			matches[i].Since = r.observed.since(s.pod.UID, matches[i].Row.Name, s.now)
		}
	}
	return matches
}

// facts collects the facts needed for a decision about the match.
func (r *Reconciler) facts(ctx context.Context, s *scope, m signals.Match) (policy.Facts, error) {
	f := policy.Facts{Now: s.now, Match: m, Config: &r.Config, Pod: podFacts(s), Workload: workloadFacts(s)}
	f.Workload.Recovered = r.observed.recovered(s.pod.UID, f.Workload.Recovering, s.now)
	f.Node.Name = s.pod.Spec.NodeName
	if !m.Down || max(0, s.now.Sub(m.Since)) < m.Row.After { // the decision does not depend on other pods and nodes
		return f, nil
	}
	if err := r.nodeFacts(ctx, s, &f); err != nil {
		return f, err
	}
	whole, err := r.whole(ctx, s.pod)
	f.Pod.Whole = whole
	if err != nil || s.bare() || !m.Row.Siblings {
		return f, err
	}
	c, err := r.census(ctx, s)
	if err == nil {
		f.Siblings = c.siblings(s.pod, m.Row.Name)
	}
	return f, err
}

func podFacts(s *scope) policy.Pod {
	pod := s.pod
	return policy.Pod{
		UID: string(pod.UID), Created: pod.CreationTimestamp.Time,
		Failed: pod.Status.Phase == corev1.PodFailed, Bare: s.bare(), Slot: owners.Slot(pod),
		Protected: protection(pod), Pinned: placement.Pinned(pod), Placed: placement.Placed(pod), Group: groupOf(s),
	}
}

// protectedKind reports whether the pod is never moved and belongs to no workload that could request moves.
func protectedKind(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOf(pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror || ref != nil && (ref.Kind == "DaemonSet" || ref.Kind == "Node")
}

const preferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

func protection(pod *corev1.Pod) string {
	switch pod.Spec.PriorityClassName {
	case "system-node-critical", "system-cluster-critical":
		return "its priority class is " + pod.Spec.PriorityClassName
	}
	if _, found := pod.Annotations[preferNoEviction]; found {
		return "it has the annotation " + preferNoEviction
	}
	return ""
}

// groupKeys are the labels and annotations that name a pod's group.
var groupKeys = []string{
	"pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/group-name", "kueue.x-k8s.io/pod-group-name",
	"leaderworkerset.sigs.k8s.io/group-key",
}

// groupOf returns the pod's group, or "" if there is none.
func groupOf(s *scope) string {
	if g := s.pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	for _, key := range groupKeys {
		if name := cmp.Or(s.pod.Labels[key], s.pod.Annotations[key]); name != "" {
			return name
		}
	}
	for _, o := range s.chain {
		if kind := o.GroupVersionKind(); kind.Kind == "JobSet" || kind.Group == "kubeflow.org" {
			return o.Name
		}
	}
	return ""
}

// whole reports whether the pod's group may only be disrupted as a whole.
func (r *Reconciler) whole(ctx context.Context, pod *corev1.Pod) (bool, error) {
	g := pod.Spec.SchedulingGroup
	if g == nil || g.PodGroupName == nil {
		return false, nil
	}
	var group schedulingv1alpha2.PodGroup
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: *g.PodGroupName}, &group)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the pod's group: %w", err)
	}
	mode := group.Spec.DisruptionMode
	return mode != nil && *mode == schedulingv1alpha2.DisruptionModePodGroup, nil
}

func workloadFacts(s *scope) policy.Workload {
	w := policy.Workload{
		Name: s.subject.Kind + " " + s.subject.Name, Retries: s.retries, Memory: s.memory, Recovering: recoveringUntil(s),
	}
	for _, e := range s.memory.Entries {
		if !slices.Contains(e.Pods, string(s.pod.UID)) && e.Last.After(w.GroupMoved) {
			w.GroupMoved = e.Last
		}
	}
	return w
}

func recoveringUntil(s *scope) time.Time {
	var all []map[string]string
	for _, o := range s.chain.WithOwnAnnotations() {
		all = append(all, o.GetAnnotations())
	}
	return recovering.Until(recovering.LevelMove, s.now, all...)
}

// nodeFacts adds the facts about the pod's node, and whether the pod fits on another node. Nodes that the workload avoids do not count
// as other nodes, unless the pod has failed and therefore leaves its node in any case.
func (r *Reconciler) nodeFacts(ctx context.Context, s *scope, f *policy.Facts) error {
	all, err := r.Nodes.List(ctx)
	if err != nil {
		return err
	}
	if node := all.Get(s.pod.Spec.NodeName); node != nil {
		f.Node.UID, f.Node.MemoryPressure, f.Node.Tainted = string(node.UID), placement.IsTrue(node, corev1.NodeMemoryPressure), isTainted(node)
	}
	var avoided []string
	if !f.Pod.Failed {
		avoided = s.memory.Exclusions(memory.MaxHosts, f.Pod.Slot, s.now, all.UID)
	}
	free := placement.WithoutExclusions(s.pod, memory.Hosts(s.pod.Annotations))
	f.Node.Others = placement.FitsAny(free, all.All, append(avoided, s.pod.Spec.NodeName))
	return nil
}

// readySince returns when the pod became ready, or zero if it is not ready.
func readySince(pod *corev1.Pod) time.Time {
	return signals.Since(pod, corev1.PodReady, corev1.ConditionTrue)
}

// metadataOf returns the metadata of a bare pod.
func metadataOf(pod *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: *pod.ObjectMeta.DeepCopy()}
}

// noted is the maximum number of observation times. If one is dropped, its observation starts again.
const noted = 16384

// observationTimes records when a signal was first observed on a pod, for signals without a timestamp in the pod's status. The times are
// lost when the process restarts: the grace period of each pod then starts again.
type observationTimes struct{ *lru.Cache }

// observationKey names a row that a pod matches.
type observationKey struct {
	pod types.UID
	row string
}

// since returns when the signal was first observed on the pod.
func (d *observationTimes) since(pod types.UID, row string, now time.Time) time.Time {
	key := observationKey{pod, row}
	if first, found := d.Get(key); found {
		return first.(time.Time)
	}
	d.Add(key, now)
	return now
}

// recovery is the row of pods waiting for their workload to recover. No signal has this name.
const recovery = "\x00recovery"

// markRecovering records that the pod is waiting for its workload to recover.
func (d *observationTimes) markRecovering(pod types.UID) {
	d.Add(observationKey{pod, recovery}, time.Time{})
}

// awaitsRecovery reports whether the pod is waiting for a recovery whose end has not been observed yet.
func (d *observationTimes) awaitsRecovery(pod types.UID) bool {
	at, waited := d.Get(observationKey{pod, recovery})
	return waited && at.(time.Time).IsZero()
}

// recovered returns when the end of the recovery that the pod was waiting for was first observed. It returns zero while the workload is
// recovering, and if the pod is not waiting.
func (d *observationTimes) recovered(pod types.UID, until, now time.Time) time.Time {
	key := observationKey{pod, recovery}
	at, waited := d.Get(key)
	switch {
	case !waited || !until.IsZero():
		return time.Time{}
	case at.(time.Time).IsZero():
		d.Add(key, now)
		return now
	}
	return at.(time.Time)
}
