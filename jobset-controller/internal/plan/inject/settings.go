package inject

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Settings are the manager's settings: where the store is, and which images to add.
type Settings struct {
	// Store is the store as pods reach it. Without an address nothing is added.
	Store supervise.Store
	// StoreACL: each JobSet has its own user and Secret, which the orchestrator creates, instead of those of Store.
	StoreACL bool
	// ExecImage contains the supervisor, AgentImage the sidecar.
	ExecImage  string
	AgentImage string
	// Alone is how long a worker that is not running waits for an unreachable store before its supervisor exits; 0 means forever.
	Alone time.Duration
	// PullSecrets name Secrets in the namespace of the JobSet. The node uses them to pull these images.
	PullSecrets []string
}

// FlagAgentImage sets AgentImage, and FlagPullSecrets sets PullSecrets. Package supervise has the other flags.
const (
	FlagAgentImage  = "inplace-agent-image"
	FlagPullSecrets = "inplace-image-pull-secrets"
)

// of returns the settings of the agents in the pods of a Job, given the kind of the group's owner.
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

// Lacks returns why the assessed drivers cannot be added because of the manager's own settings, or "" if they can.
func (s Settings) Lacks(a Assessment) string {
	for _, rjob := range a.Entries {
		if flag := s.missing(rjob.Driver); flag != "" {
			return "no agent is added to the pods, because the manager runs without --" + flag
		}
	}
	return ""
}

// missing returns the flag that a driver needs and that is not set, or "".
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
