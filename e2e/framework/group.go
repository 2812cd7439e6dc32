package framework

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
)

// JobSet reads a JobSet.
func (env *Environment) JobSet(ctx context.Context, namespace, name string) (*v1alpha2.JobSet, error) {
	js := &v1alpha2.JobSet{}
	if err := env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, js); err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", name, err)
	}
	return js, nil
}

// Summary summarizes the state of a group.
type Summary = group.Summary

// Summary reads a JobSet's group, given the JobSet's UID. It returns coordination.ErrNoGroup if the store has no such
// group.
func (env *Environment) Summary(ctx context.Context, uid string) (Summary, error) {
	return grouptest.Read(ctx, env.Store, uid)
}

// Records returns the records of a JobSet's last restarts, oldest first, given the JobSet's UID.
func (env *Environment) Records(ctx context.Context, uid string) ([]coordination.Record, error) {
	stored, err := env.Store.Read(ctx, uid)
	if err != nil {
		return nil, err
	}
	lines, err := env.Store.History(ctx, uid)
	if err != nil {
		return nil, err
	}
	return group.Records(stored, lines), nil
}

// AwaitPhase waits until a JobSet's group has the given phase, generation and round, and returns the group's summary.
func (env *Environment) AwaitPhase(ctx context.Context, js *v1alpha2.JobSet, phase coordination.Phase, generation, round int64) (Summary, error) {
	var sum Summary
	what := fmt.Sprintf("the group of %s is %s at total restart count %d of generation %d", js.Name, phase, round, generation)
	err := Until(ctx, what, func(ctx context.Context) error {
		var err error
		if sum, err = env.Summary(ctx, string(js.UID)); err != nil {
			return err
		}
		if sum.Phase != phase || sum.Generation != generation || sum.Round != round {
			return fmt.Errorf("it is %s at %d of generation %d, %d of %d joined", sum.Phase, sum.Round, sum.Generation, sum.Joined, sum.Size)
		}
		return nil
	})
	return sum, err
}

// AwaitAnnotation waits until an annotation of the JobSet has the given value.
func (env *Environment) AwaitAnnotation(ctx context.Context, js *v1alpha2.JobSet, key, value string) error {
	return Until(ctx, fmt.Sprintf("%s of %s is %q", key, js.Name, value), func(ctx context.Context) error {
		now, err := env.JobSet(ctx, js.Namespace, js.Name)
		if err == nil && now.Annotations[key] != value {
			err = fmt.Errorf("it is %q", now.Annotations[key])
		}
		return err
	})
}
