//go:build e2e && e2e_all

package placement

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// When all Jobs are recreated at once, old and new ones coexist for a while. No rack has two Jobs, and no Job is in two
// racks.
func TestEachJobHasItsOwnRackAfterARestart(t *testing.T) {
	ns := namespace(t, "placement-restart")
	workers := entry("w", 3, 4)
	workers.Template.Spec.BackoffLimit = ptr.To[int32](0)
	create(t, ns, "train", exclusively, workers)
	names := []string{"train-w-0", "train-w-1", "train-w-2"}
	await(t, "all are ready", ready(ns, "train", names...))
	for restarts := range int32(2) {
		failed := podAt(t, ns, "train-w-1", []string{"0", "2"}[restarts]) // a leader, then a follower
		if err := simulation.Exit(client.ObjectKeyFromObject(failed), "", 1); err != nil {
			t.Fatal(err)
		}
		await(t, "all are ready again", func(ctx context.Context) error {
			all, err := jobs(ctx, ns, "train")
			if err != nil {
				return err
			}
			for name, job := range all {
				if attempt := job.Labels[v1alpha2.RestartsKey]; attempt != fmt.Sprint(restarts+1) {
					return fmt.Errorf("%s is of attempt %s", name, attempt)
				}
			}
			return ready(ns, "train", names...)(ctx)
		})
		racks(t, ns, names)
	}
}
