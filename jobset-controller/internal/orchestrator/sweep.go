package orchestrator

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Sweep drops the groups of owners that no longer exist. It does not rely on deletion events, because a deletion may happen while
// there is no leader.
type Sweep struct {
	Cache  client.Reader
	Live   client.Reader
	Store  rounds.Leader
	Tokens Tokens
	Owners *owners.Lister // nil if there are only JobSets
	Tidy   bool           // no other program removes the remains of late reports
}

// Once sweeps once. Another process may lead by now, which has the token.
func (s *Sweep) Once(ctx context.Context) error {
	if s.Tidy {
		if _, err := s.Store.Tidy(ctx); err != nil {
			return err
		}
	}
	groups, err := s.Store.Groups(ctx)
	if err != nil {
		return err
	}
	unknown, err := s.Owners.Unknown(ctx, s.Cache, s.Live, groups)
	if err != nil || len(unknown) == 0 {
		return err
	}
	if _, err := s.Tokens.Token(ctx); err != nil {
		return err
	}
	var errs []error
	for _, group := range unknown {
		log.FromContext(ctx).Info("dropping a group whose owner is gone", "group", group)
		errs = append(errs, s.Store.Drop(ctx, group))
	}
	return errors.Join(errs...)
}
