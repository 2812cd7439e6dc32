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
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// ExclusionsMap is the ConfigMap of each namespace that the MutatingAdmissionPolicy reads. Its keys are UIDs of pods' controllers, and such
// UIDs with a pod's name or completion index behind a dot; its values are those of memory.HostsAnnotation.
const ExclusionsMap = "holdfast-rescheduling-exclusions"

// most bytes of keys and values in one namespace: a ConfigMap has room for a MiB.
const mostPublished = 768 << 10

// publish the exclusions of a workload for the policy, which cannot read its owner's annotations. Each pass does: the one that wrote the
// memory may not have come to it.
func (r *Reconciler) publish(ctx context.Context, s *scope) error {
	if r.config.Admission.Way != settings.Policy || s.bare() || r.config.DryRun {
		return nil
	}
	children := append(r.family.of(s.subject.UID), s.chain.Direct().UID)
	want := map[string]string{}
	for _, direct := range children {
		maps.Copy(want, published(direct, s))
	}
	return r.edit(ctx, s.pod.Namespace, func(data map[string]string) {
		maps.DeleteFunc(data, func(key, _ string) bool { return slices.Contains(children, controllerOf(key)) })
		maps.Copy(data, want)
	})
}

// controllerOf the key of an entry.
func controllerOf(key string) types.UID {
	uid, _, _ := strings.Cut(key, ".")
	return types.UID(uid)
}

// edit the ConfigMap of a namespace, which all its workloads share. What does not fit into it is left out: it stays as it was.
func (r *Reconciler) edit(ctx context.Context, namespace string, change func(data map[string]string)) error {
	key := client.ObjectKey{Namespace: namespace, Name: ExclusionsMap}
	err := retry.OnError(retry.DefaultBackoff, raced, func() error {
		var there corev1.ConfigMap
		err := r.live.Get(ctx, key, &there)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		after := there.DeepCopy()
		if after.Data == nil {
			after.Data = map[string]string{}
		}
		change(after.Data)
		switch {
		case maps.Equal(there.Data, after.Data) || size(after.Data) > mostPublished:
			return nil
		case err != nil:
			return r.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ExclusionsMap}, Data: after.Data}, fieldOwner)
		}
		return r.client.Patch(ctx, after, client.MergeFromWithOptions(&there, client.MergeFromWithOptimisticLock{}), fieldOwner)
	})
	if err != nil {
		return fmt.Errorf("writing the exclusions of namespace %s: %w", namespace, err)
	}
	return nil
}

// raced: somebody else was there in between.
func raced(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

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
		if len(validation.IsConfigMapKey(string(direct)+"."+name)) > 0 { // no pod of ours has such a slot: somebody has written it
			continue
		}
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
