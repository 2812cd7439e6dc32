package lab

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// JobSet reads a JobSet.
func (l *Lab) JobSet(ctx context.Context, namespace, name string) (*v1alpha2.JobSet, error) {
	js := &v1alpha2.JobSet{}
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, js); err != nil {
		return nil, fmt.Errorf("reading JobSet %s: %w", name, err)
	}
	return js, nil
}

// AwaitPhase returns the group of a JobSet once it is in the phase, epoch and round.
func (l *Lab) AwaitPhase(ctx context.Context, js *v1alpha2.JobSet, phase coordination.Phase, epoch, round int64) (coordination.Summary, error) {
	var sum coordination.Summary
	what := fmt.Sprintf("the group of %s is %s at total restart count %d of epoch %d", js.Name, phase, round, epoch)
	err := Until(ctx, what, func(ctx context.Context) error {
		var err error
		if sum, err = l.Store.Summary(ctx, string(js.UID)); err != nil {
			return err
		}
		if sum.Phase != phase || sum.Epoch != epoch || sum.Round != round {
			return fmt.Errorf("it is %s at %d of epoch %d, %d of %d joined", sum.Phase, sum.Round, sum.Epoch, sum.Joined, sum.Size)
		}
		return nil
	})
	return sum, err
}

// AwaitAnnotation returns once an annotation of the JobSet has the value.
func (l *Lab) AwaitAnnotation(ctx context.Context, js *v1alpha2.JobSet, key, value string) error {
	return Until(ctx, fmt.Sprintf("%s of %s is %q", key, js.Name, value), func(ctx context.Context) error {
		now, err := l.JobSet(ctx, js.Namespace, js.Name)
		if err == nil && now.Annotations[key] != value {
			err = fmt.Errorf("it is %q", now.Annotations[key])
		}
		return err
	})
}
