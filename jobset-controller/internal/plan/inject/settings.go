package inject

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Settings are the manager's: where the store is, and which images to add.
type Settings struct {
	// Store as pods reach it. Without an address nothing is added.
	Store supervise.Store
	// StoreACL: each JobSet has a user and a Secret of its own, which the orchestrator makes, instead of those of Store.
	StoreACL bool
	// ExecImage has the supervisor, AgentImage the sidecar.
	ExecImage  string
	AgentImage string
	// Alone is how long a worker that is not running waits for a store that is unreachable, then its supervisor exits; 0: for ever.
	Alone time.Duration
	// PullSecrets name Secrets in the namespace of the JobSet by which the node pulls these images.
	PullSecrets []string
}

// FlagAgentImage sets AgentImage, and FlagPullSecrets PullSecrets; the other flags are those of package supervise.
const (
	FlagAgentImage  = "inplace-agent-image"
	FlagPullSecrets = "inplace-image-pull-secrets"
)

// of are the settings of the agents in the pods of a Job, given the kind of the group's owner.
func (s Settings) of(job *batchv1.Job, kind string) Settings {
	secret := inplace.StoreSecret(job.Labels[v1alpha2.JobSetNameKey])
	switch kind {
	case inplace.JobKind:
		secret = inplace.JobStoreSecret(job.Name)
	case inplace.PodKind:
		secret = inplace.PodStoreSecret(job.Labels[v1alpha2.PodGroupKey])
	}
	if s.StoreACL {
		s.Store.Username = coordination.UserOf("$(" + envJobSetUID + ")") // the kubelet fills it in
		s.Store.Secret, s.Store.SecretKey = secret, supervise.SecretPassword
	}
	return s
}

// Lacks says why the assessed drivers cannot be added though nothing in the JobSet stands against it: the manager was not told
// what to add. It is empty if they can.
func (s Settings) Lacks(a Assessment) string {
	for _, rjob := range a.Entries {
		if flag := s.missing(rjob.Driver); flag != "" {
			return "no agent is added to the pods, because the manager runs without --" + flag
		}
	}
	return ""
}

// missing names the flag that a driver needs and that is not set.
func (s Settings) missing(driver Driver) string {
	switch {
	case driver == None:
		return ""
	case s.Store.Address == "":
		return supervise.FlagStoreAddress
	case driver == Exec && s.ExecImage == "":
		return supervise.FlagExecImage
	case driver == CRI && s.AgentImage == "":
		return FlagAgentImage
	}
	return ""
}
