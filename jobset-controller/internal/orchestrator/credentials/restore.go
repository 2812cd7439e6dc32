package credentials

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// Restore sets the users of all groups in the store at once. It runs after every connection, because a restarted server has no
// users, and agents cannot reconnect without them.
func (k *Keeper) Restore(ctx context.Context) error {
	k.mu.Lock()
	for uid, u := range k.known {
		u.applied = ""
		k.known[uid] = u
	}
	k.mu.Unlock()
	list, incomplete := k.Owners.List(ctx, k.Client)
	users := map[string][]string{}
	for _, owner := range list {
		if valid := Of(owner.GetAnnotations()).Valid(); len(valid) > 0 {
			users[string(owner.GetUID())] = valid
		}
	}
	if err := k.Users.SetUsers(ctx, users); err != nil {
		return &StoreError{err}
	}
	for uid, valid := range users {
		k.update(types.UID(uid), func(u *user) { u.applied = digest(valid) })
	}
	return incomplete
}
