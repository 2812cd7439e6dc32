package jobset

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// lister is an API server that records the options of List calls.
type lister struct {
	client.Reader
	options client.ListOptions
}

func (l *lister) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	l.options.ApplyOptions(options)
	return nil
}

// Hundreds of JobSets may fail at once. A List call without a resource version reads all pods of the namespace from
// etcd.
func TestPodsOfAFailedJobAreListedFromTheAPIServersCache(t *testing.T) {
	for parallelism, version := range map[int32]string{1: "0", culprits: "0", culprits + 1: ""} {
		live := &lister{}
		r := New(Options{Live: live})
		job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &parallelism}}
		job.Name = "a-w-0"
		r.culprit(t.Context(), &scope{jobSet: MakeJobSet("a").Obj()}, job)
		options := live.options.AsListOptions()
		if options.ResourceVersion != version || options.Limit != culprits || options.LabelSelector != batchv1.JobNameLabel+"=a-w-0" {
			t.Errorf("parallelism %d: listed with %+v", parallelism, options)
		}
	}
}
