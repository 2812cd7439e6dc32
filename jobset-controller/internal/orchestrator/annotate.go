package orchestrator

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// FieldManager is the field manager of what the orchestrator writes: its annotations and its conditions.
const FieldManager = "holdfast-orchestrator"

// annotated updates annotations of an owner in one compare-and-set, and returns the updated owner. An empty value removes its
// annotation.
func annotated(ctx context.Context, c client.Client, owner client.Object, values map[string]string) (client.Object, error) {
	next := owners.WithAnnotations(owner, values)
	provenance.Stamp(owner, next.GetAnnotations())
	if err := patch(ctx, c, owner, next); err != nil {
		return owner, fmt.Errorf("annotating the %s: %w", owners.KindOf(owner).Kind, err)
	}
	return next, nil
}

// patch writes the changes of an object in one compare-and-set.
func patch(ctx context.Context, c client.Client, before, next client.Object) error {
	return c.Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
}

// patchStatus does the same for its status.
func patchStatus(ctx context.Context, c client.Client, before, next client.Object) error {
	return c.Status().Patch(ctx, next, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
}

// short limits the length of an event note or a message. Names in the store may be longer than any that we have written.
func short(text string) string {
	if len(text) <= notes.MaxLength {
		return text
	}
	return notes.Truncate(text, notes.MaxLength-len(dots)) + dots
}

const dots = "..."
