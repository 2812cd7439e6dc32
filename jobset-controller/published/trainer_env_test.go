//go:build envtest

package published

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// trainJob returns the JobSet that Kubeflow Trainer 2.2 creates for a TrainJob with two nodes in the runtime
// torch-distributed. Trainer applies the JobSet with the field manager trainer, and takes the annotations from the
// runtime's template and the TrainJob's runtimePatches.
func trainJob(annotations map[string]string) *theirs.JobSet {
	rank := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
	return &theirs.JobSet{
		TypeMeta: metav1.TypeMeta{APIVersion: theirs.SchemeGroupVersion.String(), Kind: "JobSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "trainer.kubeflow.org/v1alpha1", Kind: "TrainJob", Name: "a", UID: "7d3a", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: theirs.JobSetSpec{
			Network:       &theirs.Network{EnableDNSHostnames: ptr.To(true), PublishNotReadyAddresses: ptr.To(true)},
			SuccessPolicy: &theirs.SuccessPolicy{Operator: theirs.OperatorAll},
			StartupPolicy: &theirs.StartupPolicy{StartupPolicyOrder: theirs.AnyOrder},
			Suspend:       ptr.To(false),
			ReplicatedJobs: []theirs.ReplicatedJob{{
				Name: "node", GroupName: "default", Replicas: 1,
				Template: batchv1.JobTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
					Spec: batchv1.JobSpec{
						Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2), CompletionMode: ptr.To(batchv1.IndexedCompletion),
						Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
							RestartPolicy: corev1.RestartPolicyOnFailure,
							Containers: []corev1.Container{{
								Name: "node", Image: "pytorch:1", Command: []string{"torchrun", "train.py"},
								Ports: []corev1.ContainerPort{{ContainerPort: 29400}},
								Env: []corev1.EnvVar{
									{Name: "PET_NNODES", Value: "2"}, {Name: "PET_NPROC_PER_NODE", Value: "1"}, {Name: "PET_NODE_RANK", ValueFrom: rank},
									{Name: "PET_MASTER_ADDR", Value: "a-node-0-0.a"}, {Name: "PET_MASTER_PORT", Value: "29400"},
								},
							}},
						}},
					},
				},
			}},
		},
	}
}

// apply writes a JobSet as Trainer does, which updates it only while it is suspended.
func (g *guest) apply(js *theirs.JobSet) {
	g.Helper()
	text, err := json.Marshal(js)
	g.ok(err)
	options := metav1.PatchOptions{FieldManager: "trainer", Force: ptr.To(true)}
	_, err = g.jobSets.JobsetV1alpha2().JobSets(g.namespace).Patch(g.Context(), js.Name, types.ApplyPatchType, text, options)
	g.ok(err)
}

func TestBesideTrainJobRestartsInPlace(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	js := trainJob(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s", v1alpha2.MaxRestartsKey: "1"})
	js.Spec.Suspend = ptr.To(true) // as Kueue does until it is admitted
	g.apply(js)
	g.awaitJobs("a-node-0@0z")
	g.awaitAnnotation(v1alpha2.LedByKey, guestName)
	js.Spec.Suspend = ptr.To(false)
	g.apply(js)
	g.awaitAnnotation(v1alpha2.LedByKey, guestName) // Trainer's apply does not remove our annotation
	g.awaitJobs("a-node-0@0")
	g.makePods("a-node-0")
	g.awaitCondition(inSync + "=True/InSync")
	g.die("a-node-0-1")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	g.rejoin("a-node-0-0", "a-node-0-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.die("a-node-0-1")
	g.awaitCondition("Failed=True/" + v1alpha2.ReachedMaxRestartsReason)
}

// A runtimePatch can add annotations to each template of a TrainJob. In-place restart annotations only take effect on
// the JobSet.
func TestBesideTrainJobWithTheAnnotationOnATemplateIsRefused(t *testing.T) {
	for name, place := range map[string]func(*batchv1.JobTemplateSpec) *metav1.ObjectMeta{
		"of the Job": func(job *batchv1.JobTemplateSpec) *metav1.ObjectMeta { return &job.ObjectMeta },
		"of the pod": func(job *batchv1.JobTemplateSpec) *metav1.ObjectMeta { return &job.Spec.Template.ObjectMeta },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			runTheirs(t)
			js := trainJob(nil)
			metav1.SetMetaDataAnnotation(place(&js.Spec.ReplicatedJobs[0].Template), v1alpha2.InPlaceTimeoutKey, "60s")
			g.apply(js)
			g.awaitCondition(inSync + "=False/NotPossible")
			for _, job := range g.jobs() {
				if diff := sandbox.Differs("led-by", "", job.Annotations[v1alpha2.LedByKey]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
