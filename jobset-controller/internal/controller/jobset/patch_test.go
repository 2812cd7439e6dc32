package jobset

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// patches keeps the content of the last patch.
type patches struct {
	client.Client
	content string
}

func (p *patches) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	content, err := patch.Data(object)
	p.content = string(content)
	return err
}

func TestPatchHasTheDifferencesAndTheUID(t *testing.T) {
	current := func() *batchv1.Job {
		job := wrappers.MakeJob("a", "w").Suspended().Obj()
		job.UID, job.Status.Active = "u", 1
		job.Spec.Template.Labels = map[string]string{"kept": "1", "gone": "1"}
		job.Spec.Template.Spec.NodeSelector = map[string]string{"spot": "true"}
		return job
	}
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		want   string
	}{
		"nothing":          {func(*batchv1.Job) {}, `{"metadata":{"uid":"u"}}`},
		"not the status":   {func(j *batchv1.Job) { j.Status.Active = 0 }, `{"metadata":{"uid":"u"}}`},
		"a field":          {func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(false) }, `{"metadata":{"uid":"u"},"spec":{"suspend":false}}`},
		"a selector":       {func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"reserved": "true"} }, `{"metadata":{"uid":"u"},"spec":{"template":{"spec":{"nodeSelector":{"reserved":"true","spot":null}}}}}`},
		"a removed label":  {func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"kept": "1"} }, `{"metadata":{"uid":"u"},"spec":{"template":{"metadata":{"labels":{"gone":null}}}}}`},
		"all labels":       {func(j *batchv1.Job) { j.Spec.Template.Labels = nil }, `{"metadata":{"uid":"u"},"spec":{"template":{"metadata":{"labels":null}}}}`},
		"another number":   {func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](3) }, `{"metadata":{"uid":"u"},"spec":{"parallelism":3}}`},
		"a new annotation": {func(j *batchv1.Job) { j.Annotations = map[string]string{"epoch": "2"} }, `{"metadata":{"annotations":{"epoch":"2"},"uid":"u"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			to := &patches{}
			job, changed := current(), current()
			c.change(changed)
			if err := New(Options{Client: to}).patchJob(t.Context(), &v1alpha2.JobSet{}, job, changed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, to.content); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(current(), job); diff != "" {
				t.Errorf("the Job in the cache was changed: %s", diff)
			}
		})
	}
}

func TestJobIsSuspendedByOneField(t *testing.T) {
	to := &patches{}
	job := wrappers.MakeJob("a", "w").Obj()
	job.UID = "u"
	if err := New(Options{Client: to}).emptyJobs(t.Context(), &scope{jobSet: &v1alpha2.JobSet{}}, []*batchv1.Job{job}); err != nil || to.content != `{"metadata":{"uid":"u"},"spec":{"suspend":true}}` {
		t.Errorf("got %s (%v)", to.content, err)
	}
}
