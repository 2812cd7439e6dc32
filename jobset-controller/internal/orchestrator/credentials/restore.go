package credentials

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Restore gives the store the users of all JobSets at once. It follows every connection, because a server that was restarted
// has none, and agents cannot come back before it has.
func (k *Keeper) Restore(ctx context.Context) error {
	k.mu.Lock()
	k.applied = nil
	k.mu.Unlock()
	var list v1alpha2.JobSetList
	if err := k.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing JobSets: %w", err)
	}
	users := map[string][]string{}
	for i := range list.Items {
		if valid := Of(list.Items[i].Annotations).Valid(); len(valid) > 0 {
			users[string(list.Items[i].UID)] = valid
		}
	}
	if err := k.Users.SetUsers(ctx, users); err != nil {
		return &StoreError{err}
	}
	for uid, valid := range users {
		k.told(types.UID(uid), valid)
	}
	return nil
}
