package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Restore sets the users of all groups in the store at once. It runs after every connection, because a restarted server
// has no users, and agents cannot reconnect without them.
func (k *Keeper) Restore(ctx context.Context) error {
	k.mu.Lock()
	for uid, u := range k.known {
		u.applied = ""
		k.known[uid] = u
	}
	k.mu.Unlock()
	known, incomplete := k.Owners.ByUID(ctx, k.Client)
	users := map[string][]string{}
	for uid, owner := range known {
		if valid := Of(owner.GetAnnotations()).Valid(); len(valid) > 0 {
			users[uid] = valid
		}
	}
	if err := k.Users.SetUsers(ctx, users); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	for uid, valid := range users {
		k.update(types.UID(uid), func(u *user) { u.applied = digest(valid) })
	}
	return incomplete
}

// Sweep compares the store's users with the owners. It removes the users of deleted owners, restores changed users, and
// revokes the user of any group that exceeds its share of the store.
func (k *Keeper) Sweep(ctx context.Context) error {
	users, err := k.Users.Users(ctx)
	if err != nil {
		return err
	}
	known, err := k.Owners.ByUID(ctx, k.Client)
	if err != nil {
		return err
	}
	return errors.Join(k.dropUnknown(ctx, users), k.mend(ctx, users, known), k.revokeLarge(ctx, users, known))
}

func (k *Keeper) dropUnknown(ctx context.Context, users map[string][]string) error {
	unknown, err := k.Owners.Unknown(ctx, k.Client, k.Live, slices.Collect(maps.Keys(users)))
	errs := []error{err}
	for _, group := range unknown {
		k.forget(types.UID(group))
		errs = append(errs, k.Users.DropUser(ctx, group))
	}
	return errors.Join(errs...)
}

// mend restores users that differ from the record of their owner. The cache may be older than the newest records, so
// mend skips a user if the last passwords set in the store were different ones.
func (k *Keeper) mend(ctx context.Context, users map[string][]string, known map[string]client.Object) error {
	var errs []error
	for group, owner := range known {
		record := Of(owner.GetAnnotations())
		valid := slices.Sorted(slices.Values(record.Valid()))
		if record == nil || slices.Equal(users[group], valid) || k.user(owner.GetUID()).applied != digest(valid) {
			continue
		}
		errs = append(errs, k.setUser(ctx, owner.GetUID(), valid))
	}
	return errors.Join(errs...)
}

const (
	// baseShare and slotShare limit a group's memory in the store, in bytes, to far more than any group needs.
	baseShare = 8 << 20
	slotShare = 4 << 10
)

func share(owner client.Object) int64 {
	workers := int64(roster.MaxMembers)
	switch o := owner.(type) {
	case *batchv1.Job:
		workers = int64(ptr.Deref(o.Spec.Parallelism, 1))
	case *corev1.Pod:
		m, _, _ := inplace.MemberOf(o)
		workers = int64(m.Size)
	case *v1alpha2.JobSet:
		workers = policy.Workers(&o.Spec)
	}
	return baseShare + slotShare*workers
}

// revokeLarge revokes the user of an owner whose group exceeds its share: the store's functions cannot have written all
// of that data, and all groups share the memory. The data is deleted, and the workers keep running.
func (k *Keeper) revokeLarge(ctx context.Context, users map[string][]string, known map[string]client.Object) error {
	usage, err := k.Users.Tidy(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for group, bytes := range usage {
		if owner := known[group]; owner != nil && users[group] != nil && bytes > share(owner) {
			errs = append(errs, k.revoke(ctx, owner, bytes))
		}
	}
	return errors.Join(errs...)
}

const eventRevoked = "StoreAccessRevoked"

// revoke removes an owner's user and its data. It closes the user's connections first, so that nothing more is written.
// The annotation prevents the user from being created again.
func (k *Keeper) revoke(ctx context.Context, owner client.Object, bytes int64) error {
	group := string(owner.GetUID())
	if err := errors.Join(k.Users.DropUser(ctx, group), k.Users.Drop(ctx, group)); err != nil {
		return err
	}
	k.forget(owner.GetUID())
	why := fmt.Sprintf("its data used %d bytes of the store, more than the limit of %d for %s", bytes, share(owner), owner.GetName())
	record := ptr.Deref(Of(owner.GetAnnotations()), Record{}).revoked(why)
	next := owners.WithAnnotations(owner, map[string]string{Annotation: record.Format()})
	if err := k.Client.Patch(ctx, next, client.MergeFrom(owner)); err != nil {
		return fmt.Errorf("revoking the store's user of %s/%s: %w", owner.GetNamespace(), owner.GetName(), err)
	}
	log.FromContext(ctx).Info("revoked a user's access to the store", "owner", client.ObjectKeyFromObject(owner), "bytes", bytes)
	k.Recorder.Eventf(owner, nil, corev1.EventTypeWarning, eventRevoked, "Revoking",
		"its agents wrote too much data to the store and no longer have access: %s; no worker was stopped. A new value of annotation %s gives them access again",
		why, RotateAnnotation)
	return nil
}
