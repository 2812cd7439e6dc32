package inject

import (
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Settings are the manager's: where the store is, and which images to add.
type Settings struct {
	// StoreAddress is host:port of the store, as pods reach it. Without one nothing is added.
	StoreAddress string
	// StoreUsername is the ACL user; empty is the default user.
	StoreUsername string
	// StoreSecret names a Secret in the JobSet's namespace that holds the password under StoreSecretKey; empty means none.
	StoreSecret    string
	StoreSecretKey string
	// StoreACL: each JobSet has a user and a Secret of its own, which the orchestrator makes, instead of those above.
	StoreACL bool
	// StoreTLS: the Secret also holds what the store's certificate is checked against, under ca.crt.
	StoreTLS bool
	// StoreServerName is whom the store's certificate is for; empty is the host of the address.
	StoreServerName string
	// ExecImage has the supervisor, AgentImage the sidecar.
	ExecImage  string
	AgentImage string
}

// FlagAgentImage sets AgentImage; the other flags are those of package supervise.
const FlagAgentImage = "inplace-agent-image"

// of are the settings of one JobSet's agents.
func (s Settings) of(jobSet string) Settings {
	if s.StoreACL {
		s.StoreUsername = coordination.UserOf("$(" + envJobSetUID + ")") // the kubelet fills it in
		s.StoreSecret, s.StoreSecretKey = inplace.StoreSecret(jobSet), supervise.SecretPassword
	}
	return s
}

// store is how agents reach it.
func (s Settings) store() supervise.Store {
	return supervise.Store{
		Address: s.StoreAddress, Username: s.StoreUsername, Secret: s.StoreSecret, SecretKey: s.StoreSecretKey,
		TLS: s.StoreTLS, ServerName: s.StoreServerName,
	}
}

// Lacks says why the assessed drivers cannot be added though nothing in the JobSet stands against it: the manager was not told
// what to add. It is empty if they can.
func (s Settings) Lacks(a Assessment) string {
	for _, entry := range a.Entries {
		if flag := s.missing(entry.Driver); flag != "" {
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
	case s.StoreAddress == "":
		return supervise.FlagStoreAddress
	case driver == Exec && s.ExecImage == "":
		return supervise.FlagExecImage
	case driver == CRI && s.AgentImage == "":
		return FlagAgentImage
	}
	return ""
}
