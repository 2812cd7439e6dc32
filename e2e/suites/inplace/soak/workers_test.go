//go:build e2e && e2e_all

package soak

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// comparePods checks that each worker has one pod, and that the Job counts the same number of pods.
func (k *soak) comparePods() {
	k.must(framework.Until(k.Context(), "there is one pod for each worker", func(ctx context.Context) error {
		pods, err := shared.Pods(ctx, namespace, k.js.Name)
		if err != nil {
			return err
		}
		if len(pods) != size {
			return fmt.Errorf("found %d pods for %d workers", len(pods), size)
		}
		var jobs batchv1.JobList
		if err := shared.Client.List(ctx, &jobs, client.InNamespace(namespace), client.MatchingLabels{v1alpha2.JobSetNameKey: k.js.Name}); err != nil {
			return err
		}
		if len(jobs.Items) != 1 {
			return fmt.Errorf("there are %d Jobs", len(jobs.Items))
		}
		s := jobs.Items[0].Status
		if s.Active != size || ptr.Deref(s.Ready, 0) != size || ptr.Deref(s.Terminating, 0) != 0 || s.Succeeded != 0 {
			return fmt.Errorf("the Job's status is %+v", s)
		}
		return nil
	}))
}

// comparePrograms checks that all programs run in the round that the store and the JobSet have.
func (k *soak) comparePrograms(now epoch.Record) {
	sum, err := shared.Summary(k.Context(), string(k.js.UID))
	k.must(err)
	want := fmt.Sprintf("%s-%d-%d", k.js.UID, now.Epoch, sum.Round)
	workers, err := shared.Workers(k.Context(), namespace, k.js.Name)
	k.must(err)
	for id, w := range workers {
		got, err := shared.Variable(k.Context(), w, "HOLDFAST_RENDEZVOUS_ID")
		if err != nil || got != want {
			k.Errorf("the program of worker %s has the rendezvous %q (%v), want %q", id, got, err, want)
		}
	}
	if len(workers) != size {
		k.Errorf("%d workers, want %d", len(workers), size)
	}
}
