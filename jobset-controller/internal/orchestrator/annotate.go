package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
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

// maxNote is the API server's limit for a note, with a margin for how it counts. Names in the store may be longer than any name
// that we have written.
const maxNote = 1000

func short(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "..."
}
