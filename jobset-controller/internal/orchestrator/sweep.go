package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Sweep drops the groups of owners that no longer exist. It does not rely on deletion events, because a deletion may happen while
// there is no leader. Sweep is a runnable of the leader.
type Sweep struct {
	Cache  client.Reader
	Live   client.Reader
	Store  rounds.Leader
	Tokens Tokens
	Owners *owners.Lister // nil if there are only JobSets
	Tidy   bool           // no other program removes the remains of late reports
	Every  time.Duration
}

// Start sweeps until ctx ends.
func (s *Sweep) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := s.once(ctx); err != nil {
			log.FromContext(ctx).V(1).Info("sweeping the store failed", "error", err.Error())
		}
	}, s.Every)
	return nil
}

// once reads live before it drops anything, because the cache may be stale.
func (s *Sweep) once(ctx context.Context) error {
	if s.Tidy {
		if _, err := s.Store.Tidy(ctx); err != nil {
			return err
		}
	}
	groups, err := s.Store.Groups(ctx)
	if err != nil {
		return err
	}
	known, err := s.uids(ctx, s.Cache)
	unknown := func(group string) bool { return !known[group] }
	if err != nil || !slices.ContainsFunc(groups, unknown) {
		return err
	}
	if known, err = s.uids(ctx, s.Live); err != nil {
		return err
	}
	return s.drop(ctx, groups, known)
}

func (s *Sweep) drop(ctx context.Context, groups []string, known map[string]bool) error {
	if _, err := s.Tokens.Token(ctx); err != nil {
		return err // another process leads
	}
	var errs []error
	for _, group := range groups {
		if known[group] {
			continue
		}
		log.FromContext(ctx).Info("dropping a group whose owner is gone", "group", group)
		errs = append(errs, s.Store.Drop(ctx, group))
	}
	return errors.Join(errs...)
}

func (s *Sweep) uids(ctx context.Context, from client.Reader) (map[string]bool, error) {
	list, err := s.Owners.List(ctx, from)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(list))
	for _, owner := range list {
		known[string(owner.GetUID())] = true
	}
	return known, nil
}
