package inject

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// Config is the configuration of what is added to the pods of JobSets that ask for in-place restarts and bring no agent. Flags
// override its fields.
type Config struct {
	supervise.Config
	AgentImage string `json:"agentImage,omitempty"`
}

// Flags registers the flags.
func (s *Settings) Flags(set *pflag.FlagSet) {
	set.StringVar(&s.Store.Address, supervise.FlagStoreAddress, "", "host:port of Valkey or Redis 7, as pods reach it; without it no agents are added to JobSets")
	set.StringVar(&s.Store.Username, supervise.FlagStoreUsername, "", "ACL user of the agents that are added")
	set.StringVar(&s.Store.Secret, supervise.FlagStoreSecret, "", "Secret with the agents' password, in the namespace of the JobSet")
	set.StringVar(&s.Store.SecretKey, supervise.FlagStoreSecretKey, supervise.SecretPassword, "key of the password in that Secret")
	set.BoolVar(&s.StoreACL, supervise.FlagStoreACL, false, "agents that are added use the user and the Secret that the orchestrator makes for each JobSet (its --valkey-acl)")
	set.BoolVar(&s.Store.TLS, supervise.FlagStoreTLS, false, "agents that are added reach the store by TLS; their Secret holds ca.crt as well")
	set.StringVar(&s.Store.ServerName, supervise.FlagStoreServer, "", "whom the store's certificate is for; the host of the address if empty")
	set.StringVar(&s.ExecImage, supervise.FlagExecImage, "", "image of the supervisor that is added to workers (exec driver)")
	set.StringVar(&s.AgentImage, FlagAgentImage, "", "image of the sidecar that is added to workers (cri driver)")
	set.StringSliceVar(&s.PullSecrets, FlagPullSecrets, nil, "pull Secrets of these images in the namespaces of JobSets, added to the pods that get an agent")
}

// Complete sets the fields whose flags are not set from the file, and returns what is invalid.
func (s *Settings) Complete(set *pflag.FlagSet, file Config) []error {
	file.Complete(set, &s.Store, &s.StoreACL, &s.ExecImage)
	supervise.CompleteText(set, FlagAgentImage, file.AgentImage, &s.AgentImage)
	return s.Store.Check(s.StoreACL, "agents", "JobSet")
}
