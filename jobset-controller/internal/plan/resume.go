package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Resume gives the Job as it must be to run again, and whether its pod template differs from what it has. desired is the Job that
// the Builder makes now: a queue may have changed labels, annotations, nodeSelector, tolerations and schedulingGates of the
// template meanwhile.
//
// The three placement fields follow the JobSet exactly: merging them would leave a node selector or a toleration of the last
// admission behind. Labels and annotations are merged, because the API server and webhooks have added theirs; the JobSet wins.
func Resume(current, desired *batchv1.Job) (job *batchv1.Job, templateDiffers bool) {
	job = current.DeepCopy()
	job.Spec.Suspend = ptr.To(false)
	job.Annotations = merged(job.Annotations, map[string]string{epoch.Annotation: desired.Annotations[epoch.Annotation]})

	have, want := &job.Spec.Template, &desired.Spec.Template
	have.Labels = merged(have.Labels, want.Labels)
	have.Annotations = merged(have.Annotations, want.Annotations)
	have.Spec.NodeSelector = want.Spec.NodeSelector
	have.Spec.Tolerations = want.Spec.Tolerations
	have.Spec.SchedulingGates = want.Spec.SchedulingGates
	return job, !equality.Semantic.DeepEqual(current.Spec.Template, *have)
}
