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

// Agents configures in-place restarts.
type Agents struct {
	// ExecImage is the supervisor's image.
	ExecImage string `json:"execImage,omitempty"`
	// Store is the store's address, as used by pods.
	supervise.Store
	// StoreACL means that each job has its own store user and Secret, created by the orchestrator, instead of those in Store.
	StoreACL bool `json:"storeACL,omitempty"`
	// PullSecrets are the names of pull Secrets in the job's namespace, for the images of the supervisor and the rendezvous server.
	PullSecrets []string `json:"-"`
}

// Environment variables of the supervisor, in addition to those of the store.
const (
	envPodUID   = "HOLDFAST_POD_UID"
	envNodeName = "HOLDFAST_NODE_NAME"
	// envRunID is torchrun's rendezvous ID. After an in-place restart, launchers need a new ID. With the old one, they would find the
	// data of the previous round and wait for its heartbeats to expire.
	envRunID = "PET_RDZV_ID"
)

var timeoutRule = grace.Rule{Name: "annotation " + v1alpha1.InPlaceTimeoutKey, Minimum: time.Millisecond}

// Timeout returns the timeout of an in-place restart, or 0 if the job does not request in-place restarts. If they are requested but not
// possible, it returns an error.
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
	case a.Store.Address == "":
		return 0, fmt.Errorf("the operator runs without --%s", supervise.FlagStoreAddress)
	case a.ExecImage == "":
		return 0, fmt.Errorf("the operator runs without --%s", supervise.FlagExecImage)
	}
	if err := validate(job); err != nil {
		return 0, err
	}
	return timeout, nil
}

var podSpec = field.NewPath("spec", "replicaSpecs", "Worker", "template", "spec")

// validate returns an error if the supervisor cannot be added to the template.
func validate(job *v1alpha1.ElasticJob) error {
	spec := &job.Spec.ReplicaSpecs.Worker.Template.Spec
	index, err := containerIndex(job)
	if err != nil {
		return err
	}
	c, path := &spec.Containers[index], podSpec.Child("containers").Index(index)
	if len(c.Command) == 0 {
		return field.Required(path.Child("command"), "the supervisor starts the worker and does not know the entry point of the image")
	}
	for i, v := range c.Env {
		if slices.ContainsFunc(reserved, func(r corev1.EnvVar) bool { return r.Name == v.Name }) {
			return field.Invalid(path.Child("env").Index(i).Child("name"), v.Name, "the name is reserved for the supervisor; rename the variable")
		}
	}
	if conflict := supervise.Conflict(spec, podSpec, index); conflict != nil {
		return conflict
	}
	return nil
}

var reserved = append(supervise.Reserved(), corev1.EnvVar{Name: envPodUID}, corev1.EnvVar{Name: envNodeName})

// containerIndex returns the index of the container to restart: the only one, or the one named by the annotation.
func containerIndex(job *v1alpha1.ElasticJob) (int, error) {
	containers := job.Spec.ReplicaSpecs.Worker.Template.Spec.Containers
	name, named := job.Annotations[v1alpha1.InPlaceContainerKey]
	if len(containers) == 1 && !named {
		return 0, nil
	}
	path := field.NewPath("metadata", "annotations").Key(v1alpha1.InPlaceContainerKey)
	if !named {
		return 0, field.Required(path, fmt.Sprintf("the pods have %d containers; name the one to restart", len(containers)))
	}
	index := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
	if index < 0 {
		return 0, field.Invalid(path, name, "no container of "+podSpec.Child("containers").String()+" has this name")
	}
	return index, nil
}

// Supervise adds the supervisor to a pod returned by WorkerPod if in-place restarts are requested and possible.
func (a Agents) Supervise(job *v1alpha1.ElasticJob, pod *corev1.Pod, index int, resumes int32) {
	timeout, err := a.Timeout(job)
	if err != nil || timeout == 0 || index >= roster.MaxMembers { // the maximum size of a group
		return
	}
	container, _ := containerIndex(job)
	number := strconv.FormatInt(policy.Epoch(resumes), 10)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, epoch.Annotation, number)
	supervisor := supervise.Supervisor{
		Image: a.ExecImage, Store: a.storeOf(job),
		Identity: []corev1.EnvVar{supervise.FromField(envPodUID, "metadata.uid"), supervise.FromField(envNodeName, "spec.nodeName")},
		Flags: []string{
			"--worker-jobset-uid=" + string(job.UID),
			"--worker-id=" + roster.Slot(roster.Member(index, "$("+envPodUID+")")), // expanded by the kubelet
			"--worker-pod-uid=$(" + envPodUID + ")",
			"--worker-pod-epoch=" + number,
			"--pod-name=" + pod.Name,
			"--node-name=$(" + envNodeName + ")",
		},
	}
	// The run ID can change with each restart only if all workers have a supervisor and the ID is not a launcher argument.
	if job.Annotations[v1alpha1.InjectArgumentsKey] != "true" && policy.Read(job).Max <= roster.MaxMembers {
		supervisor.Flags = append(supervisor.Flags, "--round-variables="+envRunID)
	}
	supervisor.Into(&pod.Spec, container)
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
