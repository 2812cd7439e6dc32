//go:build e2e

package appwrapper

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

func TestTheExampleSucceeds(t *testing.T) {
	b := newBench(t)
	b.create(b.load("job.yaml"))
	aw := b.awaitPhase("job-example", v1beta2.Succeeded)
	if n := len(aw.Status.Attempts); n != 1 || aw.Status.Retries != 0 {
		t.Errorf("attempts %+v", aw.Status.Attempts)
	}
}

func TestTheFailingExampleIsResetTwiceAndKept(t *testing.T) {
	b := newBench(t)
	b.create(b.load("patience.yaml"))
	aw := b.awaitPhase("patience-example", v1beta2.Failed)
	if len(aw.Status.Attempts) != 3 || aw.Status.Retries != 2 {
		t.Errorf("attempts %+v", aw.Status.Attempts)
	}
	b.Until("the failed workload is kept for inspection", func(ctx context.Context) error {
		now := b.get("patience-example")
		for _, c := range now.Status.Conditions {
			if c.Type == string(v1beta2.DeletingResources) && c.Reason == v1beta2.ReasonDeletionPaused {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", now.Status.Conditions)
	})
	if err := k8s.Get(t.Context(), client.ObjectKey{Namespace: b.NS, Name: "patience-example"}, &batchv1.Job{}); err != nil {
		t.Error(err)
	}
	for i, a := range aw.Status.Attempts[1:] {
		pause := a.StartTime.Sub(aw.Status.Attempts[i].EndTime.Time)
		t.Logf("attempt %d began %s after the end of the previous one (%s)", a.Number, pause, aw.Status.Attempts[i].Reason)
	}
}

// The pods of a reset workload are new, and are created only when the old ones are gone.
func TestALostPodCausesOneReset(t *testing.T) {
	b := newBench(t)
	b.create(b.worker("lost"))
	b.awaitReady("lost")
	pods, err := podsOf(t.Context(), b.NS, "lost")
	b.OK(err)
	begin := time.Now()
	b.OK(k8s.Delete(t.Context(), &pods[0], client.GracePeriodSeconds(0)))
	// The Job controller counts the deleted pod as a failure. With backoffLimit 0 it fails the Job, so there is no
	// grace period.
	b.Until("it is reset", func(context.Context) error {
		if n := b.get("lost").Status.Retries; n != 1 {
			return fmt.Errorf("%d resets", n)
		}
		return nil
	})
	t.Logf("reset decided %s after the deletion of the pod", time.Since(begin).Round(time.Millisecond))
	b.awaitReady("lost")
	t.Logf("ready again after %s", time.Since(begin).Round(time.Millisecond))
	if aw := b.get("lost"); len(aw.Status.Attempts) != 2 || aw.Status.Retries != 1 {
		t.Errorf("attempts %+v", aw.Status.Attempts)
	}
	b.OK(k8s.Delete(t.Context(), b.get("lost")))
	b.Until("nothing is left", func(ctx context.Context) error {
		left, err := podsOf(ctx, b.NS, "lost")
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d pods", len(left))
		}
		if getErr := k8s.Get(ctx, client.ObjectKey{Namespace: b.NS, Name: "lost"}, &metav1.PartialObjectMetadata{TypeMeta: typeMeta}); getErr == nil {
			err = fmt.Errorf("the AppWrapper still exists")
		}
		return err
	})
}

var typeMeta = metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: v1beta2.Kind}
