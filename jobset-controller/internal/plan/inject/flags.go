package inject

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// Config is the section of the configuration file about agents for pods of workloads that request in-place restarts and have none. Flags
// override it.
type Config struct {
	supervise.Config
	AgentImage string `json:"agentImage,omitempty"`
}

// Flags registers the flags. The kind of the workloads appears in the help.
func (s *Settings) Flags(set *pflag.FlagSet, kind string) {
	supervise.Flags(set, &s.Store, &s.StoreACL, &s.ExecImage, kind)
	set.StringVar(&s.AgentImage, FlagAgentImage, "", "image of the sidecar, the agent of the cri driver")
	set.StringSliceVar(&s.PullSecrets, FlagPullSecrets, nil, "pull Secrets of these images in the namespace of the "+kind+", added to pods that get an agent")
}

// Complete applies fields of the file where the flag is not set, and returns invalid settings.
func (s *Settings) Complete(set *pflag.FlagSet, file Config) []error {
	file.Complete(set, &s.Store, &s.StoreACL, &s.ExecImage)
	supervise.CompleteText(set, FlagAgentImage, file.AgentImage, &s.AgentImage)
	return s.Store.Check(s.StoreACL, "JobSet")
}
