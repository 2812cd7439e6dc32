package rescheduling

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// ExclusionsMap is the ConfigMap of each namespace that the MutatingAdmissionPolicy reads. Its keys are UIDs of pods' controllers, and such
// UIDs with a pod's name or completion index behind a dot; its values are those of memory.HostsAnnotation.
const ExclusionsMap = "holdfast-rescheduling-exclusions"

// most bytes of keys and values in one namespace: a ConfigMap has room for a MiB.
const mostPublished = 768 << 10

// publish the exclusions of a workload for the policy, which cannot read its owner's annotations.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if r.config.Admission.Way != settings.Policy || s.bare() {
		return nil
	}
	want := map[string]string{}
	for _, direct := range r.family.of(s.subject.UID) {
		maps.Copy(want, published(direct, s))
	}
	var there corev1.ConfigMap
	key := client.ObjectKey{Namespace: s.pod.Namespace, Name: ExclusionsMap}
	err := r.live.Get(ctx, key, &there)
	if apierrors.IsNotFound(err) {
		if len(want) == 0 {
			return nil
		}
		there = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: want}
		return r.client.Create(ctx, &there, fieldOwner)
	}
	if err != nil {
		return fmt.Errorf("reading the exclusions of namespace %s: %w", key.Namespace, err)
	}
	after := there.DeepCopy()
	if after.Data == nil {
		after.Data = map[string]string{}
	}
	children := r.family.of(s.subject.UID)
	maps.DeleteFunc(after.Data, func(key, _ string) bool {
		uid, _, _ := strings.Cut(key, ".")
		return slices.Contains(children, types.UID(uid))
	})
	maps.Copy(after.Data, want)
	if maps.Equal(there.Data, after.Data) || size(after.Data) > mostPublished {
		return nil
	}
	return r.client.Patch(ctx, after, client.MergeFromWithOptions(&there, client.MergeFromWithOptimisticLock{}), fieldOwner)
}

// published are the entries of one controller of pods: for all of them, and for the slots that have more.
func published(direct types.UID, s *scope) map[string]string {
	out := map[string]string{}
	if hosts := s.memory.Exclusions("", s.now, nil); len(hosts) > 0 {
		out[string(direct)] = memory.FormatHosts(hosts)
	}
	for _, e := range s.memory.Entries {
		if e.Slot == "" || !e.Live(s.now) {
			continue
		}
		name := e.Slot[strings.LastIndex(e.Slot, "/")+1:]
		if hosts := s.memory.Exclusions(e.Slot, s.now, nil); len(hosts) > 0 {
			out[string(direct)+"."+name] = memory.FormatHosts(hosts)
		}
	}
	return out
}

func size(data map[string]string) (n int) {
	for key, value := range data {
		n += len(key) + len(value)
	}
	return n
}
