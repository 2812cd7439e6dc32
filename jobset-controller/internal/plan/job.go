package plan

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Builder builds the Jobs of one JobSet for its current attempt and generation.
type Builder struct {
	Agents inject.Plan
	// CountsSingle records on every Job how often it was restarted individually, even if that is 0, as the upstream
	// controller does with its RestartJob feature gate.
	CountsSingle bool

	jobSet *v1alpha2.JobSet
	layout layout
	epoch  int32
}

// NewBuilder returns a Builder for a JobSet. It does not change the JobSet.
func NewBuilder(js *v1alpha2.JobSet, current epoch.Record) *Builder {
	return &Builder{jobSet: js, layout: newLayout(js), epoch: current.Epoch}
}

// Job builds the Job with the given index of the replicatedJob spec.replicatedJobs[rjobIndex].
func (b *Builder) Job(rjobIndex, index int) *batchv1.Job {
	return b.build(rjobIndex, JobName(b.jobSet.Name, b.jobSet.Spec.ReplicatedJobs[rjobIndex].Name, index), b.identity(rjobIndex, index))
}

func (b *Builder) build(rjobIndex int, name string, identity map[string]string) *batchv1.Job {
	js, rjob := b.jobSet, &b.jobSet.Spec.ReplicatedJobs[rjobIndex]
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       js.Namespace,
			OwnerReferences: []metav1.OwnerReference{ownedBy(js)},
		},
		Spec: *rjob.Template.Spec.DeepCopy(),
	}
	b.decorate(job, rjob, identity)
	job.Spec.Suspend = ptr.To(ptr.Deref(js.Spec.Suspend, false))
	enqueue(job, js)
	Defaults(&job.Spec)
	if WantsService(js) {
		job.Spec.Template.Spec.Subdomain = Subdomain(js)
	}
	addClaims(js, &job.Spec.Template.Spec)
	pinToReservedNodes(job)
	b.Agents.Into(rjobIndex, job, b.layout.first[rjobIndex])
	return job
}

func (b *Builder) decorate(job *batchv1.Job, rjob *v1alpha2.ReplicatedJob, identity map[string]string) {
	own := merged(identity, map[string]string{epoch.Annotation: epoch.FormatNumber(b.epoch)})
	job.Labels = merged(rjob.Template.Labels, identity)
	job.Annotations = merged(placement(b.jobSet.Annotations), rjob.Template.Annotations, own)

	pod := &job.Spec.Template
	pod.Labels = merged(pod.Labels, identity)
	pod.Annotations = merged(pod.Annotations, placement(job.Annotations), own)
}

// Defaults sets the defaults of the upstream webhook: Jobs are Indexed, and their pods restart on failure.
func Defaults(spec *batchv1.JobSpec) {
	spec.CompletionMode = cmp.Or(spec.CompletionMode, ptr.To(batchv1.IndexedCompletion))
	spec.Template.Spec.RestartPolicy = cmp.Or(spec.Template.Spec.RestartPolicy, corev1.RestartPolicyOnFailure)
}

func ownedBy(js *v1alpha2.JobSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(js, v1alpha2.GroupVersion.WithKind("JobSet"))
}

// StageQueue returns the queue in which each Job of the JobSet waits individually once it is created, or "" if there is
// none. A JobSet that is queued as a whole gets its quota, including that of later stages, from its own queue.
func StageQueue(js *v1alpha2.JobSet) string {
	if policy.Queued(js) {
		return ""
	}
	return js.Annotations[v1alpha2.StageQueueKey]
}

// enqueue assigns a new Job to its queue. The Job is created suspended, and the queue manager resumes it.
func enqueue(job *batchv1.Job, js *v1alpha2.JobSet) {
	queue := StageQueue(js)
	if queue == "" {
		return
	}
	metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha2.QueueNameLabel, queue)
	if class := js.Labels[v1alpha2.PriorityClassLabel]; class != "" {
		metav1.SetMetaDataLabel(&job.ObjectMeta, v1alpha2.PriorityClassLabel, class)
	}
	job.Spec.Suspend = ptr.To(true)
}

// placement returns the placement annotations that Jobs inherit from the JobSet, and pods from their Job. Those on the
// Job template take precedence.
func placement(annotations map[string]string) map[string]string {
	keys := map[string]string{}
	for _, key := range []string{v1alpha2.ExclusiveKey, v1alpha2.NodeSelectorStrategyKey} {
		if value, found := annotations[key]; found {
			keys[key] = value
		}
	}
	return keys
}

// pinToReservedNodes implements the node selector strategy: nodes were labeled for this Job and tainted to repel all
// others.
func pinToReservedNodes(job *batchv1.Job) {
	_, exclusive := job.Annotations[v1alpha2.ExclusiveKey]
	if _, byNodeSelector := job.Annotations[v1alpha2.NodeSelectorStrategyKey]; !exclusive || !byNodeSelector {
		return
	}
	pod := &job.Spec.Template.Spec
	pod.NodeSelector = merged(pod.NodeSelector, map[string]string{v1alpha2.NamespacedJobKey: job.Namespace + "_" + job.Name})
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
		Key:      v1alpha2.NoScheduleTaintKey,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	})
}

// Resume returns the Job with the changes required for it to run again, and reports whether its pod template differs
// from the current one. desired is the Job that the Builder would build now. A queue may have changed labels,
// annotations, nodeSelector, tolerations and schedulingGates of the template since the Job was created.
//
// The three placement fields follow the JobSet exactly: merging would keep a node selector or toleration from the last
// admission. Labels and annotations are merged, because the API server and webhooks have added their own; the JobSet
// takes precedence.
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

// Resize returns the Job with the parallelism and completions of its replicatedJob, and reports whether they differ
// from the current ones. Only Indexed Jobs in which the two numbers are equal can be resized: the API server rejects
// all others.
func Resize(current *batchv1.Job, rjob *batchv1.JobSpec) (job *batchv1.Job, differs bool) {
	if !Elastic(rjob) || !Elastic(&current.Spec) || *current.Spec.Parallelism == *rjob.Parallelism {
		return current, false
	}
	job = current.DeepCopy()
	job.Spec.Parallelism, job.Spec.Completions = ptr.To(*rjob.Parallelism), ptr.To(*rjob.Completions)
	return job, true
}

// Elastic reports whether a Job with this spec can be resized.
func Elastic(spec *batchv1.JobSpec) bool {
	return ptr.Deref(spec.CompletionMode, batchv1.IndexedCompletion) == batchv1.IndexedCompletion &&
		spec.Parallelism != nil && spec.Completions != nil && *spec.Parallelism == *spec.Completions && *spec.Parallelism >= 1
}

// SparesName returns the name of a replicatedJob's spare Job: "<jobset>-<replicatedJob>-spares".
func SparesName(jobSet, rjob string) string { return jobSet + "-" + rjob + "-" + coordination.Spares }

// Spares builds the spare Job of a replicatedJob, or returns nil if it has no spares. The spare pods have the workers'
// template, and run on nodes without other pods of the JobSet.
func (b *Builder) Spares(rjobIndex int) *batchv1.Job {
	n := int32(b.Agents.Spares(rjobIndex))
	if n == 0 {
		return nil
	}
	js := b.jobSet
	name, identity := SparesName(js.Name, js.Spec.ReplicatedJobs[rjobIndex].Name), b.identity(rjobIndex, 0)
	for _, key := range []string{v1alpha2.JobIndexKey, v1alpha2.JobGlobalIndexKey, v1alpha2.JobGroupIndexKey} {
		identity[key] = coordination.Spares
	}
	identity[v1alpha2.JobKey] = jobKey(js.Namespace, name)
	job := b.build(rjobIndex, name, identity)
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.SuccessPolicy = ptr.To(n), ptr.To(n), nil
	keepApart(js, &job.Spec.Template.Spec)
	return job
}

// keepApart keeps a spare off nodes with other pods of the JobSet, because the loss of a node must not affect both a
// worker and its spare.
func keepApart(js *v1alpha2.JobSet, pod *corev1.PodSpec) {
	anti := AntiAffinity(pod)
	anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha2.JobSetUIDKey: string(js.UID)}},
		TopologyKey:   corev1.LabelHostname,
	})
}

// AntiAffinity returns the anti-affinity of a pod, and adds an empty one if the pod has none.
func AntiAffinity(pod *corev1.PodSpec) *corev1.PodAntiAffinity {
	pod.Affinity = cmp.Or(pod.Affinity, &corev1.Affinity{})
	pod.Affinity.PodAntiAffinity = cmp.Or(pod.Affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	return pod.Affinity.PodAntiAffinity
}

// ClaimName returns "<template>-<jobset>".
func ClaimName(template, jobSet string) string { return template + "-" + jobSet }

// Claims builds the PersistentVolumeClaims shared by the pods of a JobSet. Claims that are deleted with the JobSet are
// owned by it. Claims that are retained are found by name.
func Claims(js *v1alpha2.JobSet) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range js.Spec.VolumeClaimPolicies {
		policy := &js.Spec.VolumeClaimPolicies[i]
		for j := range policy.Templates {
			claims = append(claims, claim(js, &policy.Templates[j], Retains(policy)))
		}
	}
	return claims
}

func claim(js *v1alpha2.JobSet, template *corev1.PersistentVolumeClaim, retained bool) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:        ClaimName(template.Name, js.Name),
			Namespace:   js.Namespace,
			Labels:      merged(template.Labels, map[string]string{v1alpha2.JobSetNameKey: js.Name}),
			Annotations: merged(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if !retained {
		c.OwnerReferences = []metav1.OwnerReference{ownedBy(js)}
	}
	return c
}

// Retains reports whether the claims of a policy outlive the JobSet. By default they do not.
func Retains(policy *v1alpha2.VolumeClaimPolicy) bool {
	return policy.RetentionPolicy != nil && policy.RetentionPolicy.WhenDeleted == v1alpha2.RetentionPolicyRetain
}

// Mounts reports whether a container of the pod mounts the volume.
func Mounts(pod *corev1.PodSpec, volume string) bool {
	mounts := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
	}
	return slices.ContainsFunc(pod.Containers, mounts) || slices.ContainsFunc(pod.InitContainers, mounts)
}

// addClaims adds the volumes for the claims that the pod mounts. A volume with the same name in the pod template takes
// precedence.
func addClaims(js *v1alpha2.JobSet, pod *corev1.PodSpec) {
	for i := range js.Spec.VolumeClaimPolicies {
		for j := range js.Spec.VolumeClaimPolicies[i].Templates {
			name := js.Spec.VolumeClaimPolicies[i].Templates[j].Name
			has := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
			if has || !Mounts(pod, name) {
				continue
			}
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(name, js.Name)},
			}})
		}
	}
}
