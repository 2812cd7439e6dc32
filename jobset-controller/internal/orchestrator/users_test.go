package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// noUsers fails to create store users.
type noUsers struct{ err error }

func (n noUsers) Keep(context.Context, client.Object, credentials.Save) error { return n.err }

var (
	secrets  = corev1.Resource("secrets")
	errQuota = fmt.Errorf("writing the Secret: %w", apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota: secrets=10")))
)

// The leader must handle failed workers even while new pods would not get a Secret.
func TestGroupIsLedWithoutCredentials(t *testing.T) {
	for name, err := range map[string]error{
		"a quota refuses the Secret":           errQuota,
		"a webhook for Secrets is unreachable": apierrors.NewInternalError(errors.New("failed calling webhook")),
		"the store's CA cannot be read":        errors.New("no such file"),
	} {
		t.Run(name, func(t *testing.T) {
			g := formed(t)
			g.r.Users = noUsers{err}
			g.fail("js-w-0-0", 1, 1)
			if next := g.reconcile(); next <= 0 || next > retryRejected {
				t.Errorf("the next reconcile is in %s", next)
			}
			g.wantCharged("1")
			g.wantReason("RestartingInPlace")
			g.pass(61 * time.Second)
			g.wantPhase(coordination.Forming, 2, 0)
		})
	}
}

func TestReconcileEndsWithCredentialsIf(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		again time.Duration // maximum delay until the next reconcile
	}{
		"the store is unreachable":                     {fmt.Errorf("%w: %w", credentials.ErrStore, memory.ErrUnreachable), 2 * retryStore},
		"the JobSet has changed":                       {apierrors.NewConflict(secrets, "s", errors.New("changed")), 20 * time.Millisecond},
		"the JobSet was deleted":                       {fmt.Errorf("annotating: %w", apierrors.NewNotFound(secrets, "s")), 0},
		"the store is unreachable, among other errors": {errors.Join(errQuota, fmt.Errorf("%w: %w", credentials.ErrStore, memory.ErrUnreachable)), 2 * retryStore},
	} {
		t.Run(name, func(t *testing.T) {
			g := formed(t)
			g.r.Users = noUsers{c.err}
			g.fail("js-w-0-0", 1, 1)
			if next := g.reconcile(); next > c.again {
				t.Errorf("the next reconcile is in %s", next)
			}
			g.wantCharged("0")
		})
	}
}

// A call that is always rejected must not delay the restarts of its group.
func TestErrorsDelayAGroupBriefly(t *testing.T) {
	limiter := backOff()
	for range 100 {
		if wait := limiter.When(ctrl.Request{}); wait > retryRejected {
			t.Fatalf("the next reconcile is in %s", wait)
		}
	}
}

// While it is unknown whether the Jobs get agents, there is no group. Creating the user is still retried.
func TestUserIsRetriedBeforeThereIsAGroup(t *testing.T) {
	g := newRig(t, plain)
	g.removeJob()
	g.r.Users = noUsers{errQuota}
	if next := g.reconcile(); next != retryRejected {
		t.Errorf("the next reconcile is in %s", next)
	}
}

func TestElasticJobIsLedWithoutCredentials(t *testing.T) {
	k := newCrew(t).enlist(w0, w1)
	owner := k.owner()
	metav1.SetMetaDataAnnotation(&owner.ObjectMeta, v1alpha2.InPlaceTimeoutKey, "60s")
	if err := k.c.Update(k.Context(), owner); err != nil {
		t.Fatal(err)
	}
	k.r.Users = noUsers{errQuota}
	k.look()
	if _, err := grouptest.Read(k.Context(), k.store, uid); err != nil {
		t.Errorf("the group: %v", err)
	}
}
