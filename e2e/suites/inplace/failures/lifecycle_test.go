//go:build e2e && e2e_all

package failures

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestTheJobSetFailsAfterMoreFailuresThanMaxRestarts(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		g := start(t, d, workload{MaxRestarts: 2})
		g.restart()
		g.restart()
		g.kill(g.nth(3))
		g.awaitCharged(3)
		g.must(framework.Until(g.ctx, "the JobSet has failed", func(ctx context.Context) error {
			js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
			if err == nil && !failed(js) {
				err = errors.New("it has not failed")
			}
			return err
		}))
		g.awaitCharged(3)
	})
}

func TestASuspensionIsNotAFailure(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		each(t, func(t *testing.T, d driver) {
			g := start(t, d, workload{})
			g.restart()
			g.suspendAndResume()
			g.restart()
		})
	})
	t.Run("in the middle of a restart", func(t *testing.T) {
		each(t, func(t *testing.T, d driver) {
			g := start(t, d, stubborn)
			g.breakOff()
			g.awaitCharged(1) // the failure happened before the suspension
			g.charged = 1
			g.suspendAndResume()
			g.restart()
		})
	})
}

// suspendAndResume expects a new generation in which no restart is charged and no worker has failed.
func (g *group) suspendAndResume() {
	g.Helper()
	g.setSuspend(true)
	g.must(framework.Until(g.ctx, "all pods are gone", func(ctx context.Context) error {
		pods, err := g.Pods(ctx, g.js.Namespace, g.js.Name)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods are left", len(pods))
		}
		return err
	}))
	g.awaitPhase(coordination.Closed)
	g.setSuspend(false)
	g.epoch, g.round = g.epoch+1, 0
	g.awaitSync(g.epoch, 0)
	g.before = g.awaitReady()
	js, err := g.JobSet(g.ctx, g.js.Namespace, g.js.Name)
	g.must(err)
	if failed(js) {
		g.Error("the JobSet has failed")
	}
	g.stay(quiet)
}

func (g *group) setSuspend(suspend bool) {
	g.Helper()
	g.must(framework.Until(g.ctx, "spec.suspend is updated", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		js.Spec.Suspend = &suspend
		return g.Client.Update(ctx, js)
	}))
}

func failed(js *v1alpha2.JobSet) bool {
	return meta.IsStatusConditionTrue(js.Status.Conditions, string(v1alpha2.JobSetFailed))
}

func TestAJobSetOfTheSameNameStartsFromZero(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		g := start(t, d, workload{})
		g.restart()
		old := string(g.js.UID)
		g.must(g.Remove(g.ctx, g.js.Namespace, g.js.Name))
		g.create(workload{})
		if string(g.js.UID) == old {
			t.Fatal("the JobSet is the same")
		}
		g.must(framework.Until(g.ctx, "the store has removed the old group", func(ctx context.Context) error {
			if _, err := g.Summary(ctx, old); !errors.Is(err, coordination.ErrNoGroup) {
				return fmt.Errorf("it has not removed the group: %v", err)
			}
			return nil
		}))
		g.stay(quiet)
		g.restart()
	})
}

func TestJobSetsDoNotAffectEachOther(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		a, b := start(t, d, workload{Name: "a"}), start(t, d, workload{Name: "b"})
		a.restart()
		b.stay(quiet)
		b.restart()
		b.restart()
		a.stay(quiet)
		a.kill(a.nth(2))
		b.kill(b.nth(2))
		a.settle(once)
		b.settle(once)
	})
}
