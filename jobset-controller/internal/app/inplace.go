package app

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// InPlaceConfig is what the manager adds to the pods of JobSets that ask for in-place restarts and bring no agent. A flag that
// is set overrides a field.
type InPlaceConfig struct {
	StoreAddress   string `json:"storeAddress,omitempty"` // host:port, as pods reach it
	StoreUsername  string `json:"storeUsername,omitempty"`
	StoreSecret    string `json:"storeSecret,omitempty"`    // in the namespace of the JobSet
	StoreSecretKey string `json:"storeSecretKey,omitempty"` // default password
	StoreACL       bool   `json:"storeACL,omitempty"`
	StoreTLS       bool   `json:"storeTLS,omitempty"`
	StoreServer    string `json:"storeTLSServerName,omitempty"`
	ExecImage      string `json:"execImage,omitempty"`
	AgentImage     string `json:"agentImage,omitempty"`
}

func inPlaceFlags(set *pflag.FlagSet, s *inject.Settings) {
	set.StringVar(&s.Store.Address, supervise.FlagStoreAddress, "", "host:port of Valkey or Redis 7, as pods reach it; without it no agents are added to JobSets")
	set.StringVar(&s.Store.Username, supervise.FlagStoreUsername, "", "ACL user of the agents that are added")
	set.StringVar(&s.Store.Secret, supervise.FlagStoreSecret, "", "Secret with the agents' password, in the namespace of the JobSet")
	set.StringVar(&s.Store.SecretKey, supervise.FlagStoreSecretKey, supervise.SecretPassword, "key of the password in that Secret")
	set.BoolVar(&s.StoreACL, supervise.FlagStoreACL, false, "agents that are added use the user and the Secret that the orchestrator makes for each JobSet (its --valkey-acl)")
	set.BoolVar(&s.Store.TLS, supervise.FlagStoreTLS, false, "agents that are added reach the store by TLS; their Secret holds ca.crt as well")
	set.StringVar(&s.Store.ServerName, supervise.FlagStoreServer, "", "whom the store's certificate is for; the host of the address if empty")
	set.StringVar(&s.ExecImage, supervise.FlagExecImage, "", "image of the supervisor that is added to workers (exec driver)")
	set.StringVar(&s.AgentImage, inject.FlagAgentImage, "", "image of the sidecar that is added to workers (cri driver)")
}

// completeInPlace lets fields of the file stand for flags that are not set, and returns what is wrong.
func completeInPlace(set *pflag.FlagSet, s *inject.Settings, file InPlaceConfig) []error {
	for _, one := range []struct {
		flag, file string
		into       *string
	}{
		{supervise.FlagStoreAddress, file.StoreAddress, &s.Store.Address},
		{supervise.FlagStoreUsername, file.StoreUsername, &s.Store.Username},
		{supervise.FlagStoreSecret, file.StoreSecret, &s.Store.Secret},
		{supervise.FlagStoreSecretKey, file.StoreSecretKey, &s.Store.SecretKey},
		{supervise.FlagStoreServer, file.StoreServer, &s.Store.ServerName},
		{supervise.FlagExecImage, file.ExecImage, &s.ExecImage},
		{inject.FlagAgentImage, file.AgentImage, &s.AgentImage},
	} {
		if one.file != "" && !set.Changed(one.flag) {
			*one.into = one.file
		}
	}
	if !set.Changed(supervise.FlagStoreACL) {
		s.StoreACL = file.StoreACL
	}
	if !set.Changed(supervise.FlagStoreTLS) {
		s.Store.TLS = file.StoreTLS
	}
	return checkInPlace(*s)
}

func checkInPlace(s inject.Settings) []error {
	if s.Store.TLS && !s.StoreACL && s.Store.Secret == "" {
		return []error{fmt.Errorf("--%s: agents find the store's CA in their Secret: set --%s or --%s",
			supervise.FlagStoreTLS, supervise.FlagStoreACL, supervise.FlagStoreSecret)}
	}
	if s.StoreACL && (s.Store.Secret != "" || s.Store.Username != "") {
		return []error{fmt.Errorf("--%s gives each JobSet a user of its own: leave out --%s and --%s",
			supervise.FlagStoreACL, supervise.FlagStoreUsername, supervise.FlagStoreSecret)}
	}
	if s.Store.Address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.Store.Address); err != nil || host == "" || port == "" {
		return []error{fmt.Errorf("--%s (inPlace.storeAddress): %q is not host:port", supervise.FlagStoreAddress, s.Store.Address)}
	}
	return nil
}
