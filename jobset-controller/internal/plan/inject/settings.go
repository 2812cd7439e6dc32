package inject

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Settings holds the manager's settings for agents, such as the store's address and the images. They form a section of
// the configuration file.
type Settings struct {
	// Store describes the store as seen from pods. Without an address, nothing is added.
	supervise.Store
	// StoreACL gives each JobSet its own user and Secret, created by the orchestrator, instead of those in Store.
	StoreACL bool `json:"storeACL,omitempty"`
	// ExecImage contains the supervisor, AgentImage the sidecar.
	ExecImage  string `json:"execImage,omitempty"`
	AgentImage string `json:"agentImage,omitempty"`
	// Alone is how long a worker that is not running waits for an unreachable store before its supervisor exits. 0
	// means forever.
	Alone time.Duration `json:"-"`
	// PullSecrets names Secrets in the JobSet's namespace that nodes use to pull these images.
	PullSecrets []string `json:"-"`
}

// FlagAgentImage sets AgentImage, and FlagPullSecrets sets PullSecrets. The other flags are in package supervise.
const (
	FlagAgentImage  = "inplace-agent-image"
	FlagPullSecrets = "inplace-image-pull-secrets"
)

// of returns the settings for the agents in the pods of a Job, given the kind of the group's owner.
func (s Settings) of(job *batchv1.Job, kind string) Settings {
	if !s.StoreACL {
		return s
	}
	owner := job.Labels[v1alpha2.JobSetNameKey]
	switch kind {
	case inplace.JobKind:
		owner = job.Name
	case inplace.PodKind:
		owner = job.Labels[v1alpha2.PodGroupKey]
	}
	s.Store.Username = coordination.UserOf("$(" + envJobSetUID + ")") // expanded by the kubelet
	s.Store.Secret, s.Store.SecretKey = inplace.StoreSecret(kind, owner), supervise.SecretPassword
	return s
}

// Lacks returns why the manager's own settings prevent the assessed drivers from being added, or "" if they do not.
func (s Settings) Lacks(a Assessment) string {
	const lacks = "no agent is added to the pods, because the manager runs without --"
	for _, e := range a.Entries {
		switch {
		case e.Driver == None:
		case s.Store.Address == "":
			return lacks + supervise.FlagStoreAddress
		case e.Driver == Exec && s.ExecImage == "":
			return lacks + supervise.FlagExecImage
		case e.Driver == CRI && s.AgentImage == "":
			return lacks + FlagAgentImage
		}
	}
	return ""
}

// Flags registers the flags. Their help texts mention the kind of the workloads.
func (s *Settings) Flags(set *pflag.FlagSet, kind string) {
	supervise.Flags(set, &s.Store, &s.StoreACL, &s.ExecImage, kind)
	set.StringVar(&s.AgentImage, FlagAgentImage, "", "image of the sidecar, the agent of the cri driver")
	set.StringSliceVar(&s.PullSecrets, FlagPullSecrets, nil, "pull Secrets for these images in the namespace of the "+kind+", added to pods that get an agent")
}

func (s *Settings) Check() []error { return s.Store.Check(s.StoreACL, "JobSet") }

// Environment variables that agents read, with the names in the manifest of JobSet KEP-876.
const (
	envJobSetUID = "JOBSET_UID"
	envContainer = "WORKER_CONTAINER_NAME"
	envReadyPort = "READY_PORT"
	envPodEpoch  = "HOLDFAST_POD_EPOCH"
)

// identity returns the variables that identify an agent's worker, given the kind of the group's owner and the Job.
func identity(kind string, job *batchv1.Job) []corev1.EnvVar {
	list := []corev1.EnvVar{
		fromAnnotation(envJobSetUID, v1alpha2.JobSetUIDKey),
		fromAnnotation("JOBSET_NAME", v1alpha2.JobSetNameKey),
		fromAnnotation("REPLICATED_JOB_NAME", v1alpha2.ReplicatedJobNameKey),
		fromAnnotation("JOB_INDEX", v1alpha2.JobIndexKey),
		fromAnnotation("JOB_COMPLETION_INDEX", batchv1.JobCompletionIndexAnnotation),
		supervise.FromField("POD_UID", "metadata.uid"),
		fromAnnotation(envPodEpoch, epoch.Annotation),
		supervise.FromField("HOLDFAST_POD_NAME", "metadata.name"),
		supervise.FromField("HOLDFAST_NODE_NAME", "spec.nodeName"),
	}
	switch {
	case kind == inplace.JobKind: // the Job's UID is not known before it is created, but its pods have it in a label
		list[0] = supervise.FromField(envJobSetUID, "metadata.labels['"+batchv1.ControllerUidLabel+"']")
	case kind == inplace.PodKind && job.Annotations[v1alpha2.JobSetUIDKey] == "": // the pod with index 0 is the owner
		list[0] = supervise.FromField(envJobSetUID, "metadata.uid")
	}
	if kind == inplace.PodKind { // the annotation is only on the pod with index 0, and belongs to the group
		list = slices.DeleteFunc(list, func(v corev1.EnvVar) bool { return v.Name == envPodEpoch })
	}
	return list
}

func fromAnnotation(name, key string) corev1.EnvVar {
	return supervise.FromField(name, "metadata.annotations['"+key+"']")
}

// reserved lists the variables of the exec driver, which shares its container with the worker. The rules reject a
// worker that sets one of them to a different value.
var reserved = slices.Concat(identity("", nil), supervise.Reserved(), ownIdentity(First{}, ""))

// sameSource reports whether a variable set by the user has the same source as ours. Each annotation also exists as a
// label.
func sameSource(have, ours corev1.EnvVar) bool {
	if ours.ValueFrom == nil || have.ValueFrom == nil || have.ValueFrom.FieldRef == nil {
		return false
	}
	path := have.ValueFrom.FieldRef.FieldPath
	return strings.Replace(path, "metadata.labels[", "metadata.annotations[", 1) == ours.ValueFrom.FieldRef.FieldPath
}
