package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/grace"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// Agents is what the workers of jobs that ask for restarts in place get.
type Agents struct {
	// ExecImage has the supervisor.
	ExecImage string
	// Store as pods reach it.
	Store supervise.Store
	// StoreACL: each job has a user and a Secret of its own, which the orchestrator makes, instead of those of Store.
	StoreACL bool
	// PullSecrets name Secrets in the namespace of the job by which the node pulls the images of the supervisor and of the rendezvous server.
	PullSecrets []string
}

// Variables of the supervisor beside those of the store.
const (
	envPodUID   = "HOLDFAST_POD_UID"
	envNodeName = "HOLDFAST_NODE_NAME"
	// envRunID names torchrun's rendezvous. Launchers that are started together must not meet what those before them have left there: it would
	// be taken for a round that goes on, until its heartbeats have lapsed.
	envRunID = "PET_RDZV_ID"
)

var timeoutRule = grace.Rule{Name: "annotation " + v1alpha1.InPlaceTimeoutKey, Minimum: time.Millisecond}

// Timeout of a restart in place that a job asks for; 0 if it asks for none, or cannot have any: the error says why.
func (a Agents) Timeout(job *v1alpha1.ElasticJob) (time.Duration, error) {
	value, asks := job.Annotations[v1alpha1.InPlaceTimeoutKey]
	if !asks {
		return 0, nil
	}
	timeout, err := timeoutRule.Parse(value)
	switch {
	case err != nil:
		return 0, err
	case timeout == 0:
		return 0, fmt.Errorf("%s is empty; set a duration such as \"60s\"", timeoutRule.Name)
	case a.lacks() != "":
		return 0, fmt.Errorf("the operator runs without --%s", a.lacks())
	}
	if problem := problemOf(job); problem != nil {
		return 0, problem
	}
	return timeout, nil
}

func (a Agents) lacks() string {
	switch {
	case a.Store.Address == "":
		return supervise.FlagStoreAddress
	case a.ExecImage == "":
		return supervise.FlagExecImage
	}
	return ""
}

// problemOf a template that is to get the supervisor.
func problemOf(job *v1alpha1.ElasticJob) error {
	pods := field.NewPath("spec", "replicaSpecs", "Worker", "template", "spec")
	spec := &job.Spec.ReplicaSpecs.Worker.Template.Spec
	at, err := containerOf(job, pods)
	if err != nil {
		return err
	}
	c, path := &spec.Containers[at], pods.Child("containers").Index(at)
	if len(c.Command) == 0 {
		return field.Required(path.Child("command"), "the supervisor starts the worker and cannot see the image's entry point")
	}
	for i, v := range c.Env {
		if slices.ContainsFunc(reserved, func(ours corev1.EnvVar) bool { return ours.Name == v.Name }) {
			return field.Invalid(path.Child("env").Index(i).Child("name"), v.Name, "the supervisor needs this variable; rename it")
		}
	}
	for i, m := range c.VolumeMounts {
		if m.MountPath == supervise.StartupDir || m.MountPath == supervise.CredentialsDir {
			return field.Duplicate(path.Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath)
		}
	}
	for i, v := range spec.Volumes {
		if v.Name == supervise.StartupVolume || v.Name == supervise.CredentialsVolume {
			return field.Duplicate(pods.Child("volumes").Index(i).Child("name"), v.Name)
		}
	}
	for i, v := range spec.InitContainers {
		if v.Name == supervise.InstallerName {
			return field.Duplicate(pods.Child("initContainers").Index(i).Child("name"), v.Name)
		}
	}
	return nil
}

var reserved = append(supervise.Reserved(), corev1.EnvVar{Name: envPodUID}, corev1.EnvVar{Name: envNodeName})

// containerOf is the index of the only container, or of the one that the annotation names.
func containerOf(job *v1alpha1.ElasticJob, pods *field.Path) (int, error) {
	containers := job.Spec.ReplicaSpecs.Worker.Template.Spec.Containers
	name, named := job.Annotations[v1alpha1.InPlaceContainerKey]
	if len(containers) == 1 && !named {
		return 0, nil
	}
	path := field.NewPath("metadata", "annotations").Key(v1alpha1.InPlaceContainerKey)
	if !named {
		return 0, field.Required(path, fmt.Sprintf("the pods have %d containers; name the one to restart", len(containers)))
	}
	at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		return 0, field.Invalid(path, name, "no container of "+pods.Child("containers").String()+" has this name")
	}
	return at, nil
}

// Supervise makes the worker of a pod that WorkerPod has planned one that restarts in place, if its job asks for that and can have it.
func (a Agents) Supervise(job *v1alpha1.ElasticJob, pod *corev1.Pod, index int, resumes int32) {
	if timeout, err := a.Timeout(job); err != nil || timeout == 0 {
		return
	}
	if index >= roster.MaxMembers { // the orchestrator leads no larger group
		return
	}
	at, _ := containerOf(job, nil)
	number := strconv.FormatInt(policy.Epoch(resumes), 10)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, epoch.Annotation, number)
	supervisor := supervise.Supervisor{
		Image: a.ExecImage, Store: a.storeOf(job),
		Identity: []corev1.EnvVar{supervise.FromField(envPodUID, "metadata.uid"), supervise.FromField(envNodeName, "spec.nodeName")},
		Flags: []string{
			"--worker-jobset-uid=" + string(job.UID),
			"--worker-id=" + roster.Slot(roster.Member(index, "$("+envPodUID+")")), // the kubelet fills it in
			"--worker-pod-uid=$(" + envPodUID + ")",
			"--worker-pod-epoch=" + number,
			"--pod-name=" + pod.Name,
			"--node-name=$(" + envNodeName + ")",
		},
	}
	led := policy.Read(job).Max <= roster.MaxMembers                   // all of them; others meet under the ID as it is
	if job.Annotations[v1alpha1.InjectArgumentsKey] != "true" && led { // arguments say the ID once and for all
		supervisor.Flags = append(supervisor.Flags, "--round-variables="+envRunID)
	}
	supervisor.Into(&pod.Spec, at)
	supervise.AddPullSecrets(&pod.Spec, a.PullSecrets)
}

func (a Agents) storeOf(job *v1alpha1.ElasticJob) supervise.Store {
	store := a.Store
	if a.StoreACL {
		store.Username = coordination.UserOf(string(job.UID))
		store.Secret, store.SecretKey = supervise.ElasticSecret(job.Name), supervise.SecretPassword
	}
	return store
}
