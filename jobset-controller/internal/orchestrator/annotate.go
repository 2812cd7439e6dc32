package orchestrator

import (
	"context"
	"fmt"
	"maps"

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
	next := owners.Copy(owner)
	annotations := maps.Clone(next.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range values {
		if value == "" {
			delete(annotations, key)
		} else {
			annotations[key] = value
		}
	}
	provenance.Stamp(owner, annotations)
	next.SetAnnotations(annotations)
	patch := client.MergeFromWithOptions(owner, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, next, patch, client.FieldOwner(FieldManager)); err != nil {
		return owner, fmt.Errorf("annotating the %s: %w", owners.KindOf(owner).Kind, err)
	}
	return next, nil
}

// short limits the length of an event note or a message. Names in the store may be longer than any that we have written.
func short(text string) string {
	if len(text) <= notes.MaxLength {
		return text
	}
	return notes.Truncate(text, notes.MaxLength-len(dots)) + dots
}

const dots = "..."
