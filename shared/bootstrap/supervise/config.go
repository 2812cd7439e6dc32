// Package supervise adds the supervisor of the exec driver to pods: the installer, volumes, command and environment. The callers decide
// which pods get a supervisor. It is pure.
package supervise

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"
)

// Config is the section about agents in the configuration file of a manager that adds agents to pods. Flags override it.
type Config struct {
	StoreAddress   string `json:"storeAddress,omitempty"` // host:port, as pods reach it
	StoreUsername  string `json:"storeUsername,omitempty"`
	StoreSecret    string `json:"storeSecret,omitempty"`    // in the namespace of the workload
	StoreSecretKey string `json:"storeSecretKey,omitempty"` // default password
	StoreACL       bool   `json:"storeACL,omitempty"`
	StoreTLS       bool   `json:"storeTLS,omitempty"`
	StoreServer    string `json:"storeTLSServerName,omitempty"`
	ExecImage      string `json:"execImage,omitempty"`
}

// Flags registers the flags of a manager that adds agents to the pods of a kind of workload: the store, whether each workload has its own
// store user, and the supervisor's image.
func Flags(set *pflag.FlagSet, store *Store, acl *bool, image *string, kind string) {
	set.StringVar(&store.Address, FlagStoreAddress, "", "host:port of Valkey or Redis 7, as pods reach it; if empty, no agents are added to pods")
	set.StringVar(&store.Username, FlagStoreUsername, "", "ACL user of the agents")
	set.StringVar(&store.Secret, FlagStoreSecret, "", "Secret with the agents' password, in the namespace of the "+kind)
	set.StringVar(&store.SecretKey, FlagStoreSecretKey, SecretPassword, "key of the password in that Secret")
	set.BoolVar(acl, FlagStoreACL, false, "agents use the store user and the Secret that the orchestrator creates for each "+kind+" with --valkey-acl")
	set.BoolVar(&store.TLS, FlagStoreTLS, false, "agents connect to the store with TLS; their Secret must also contain ca.crt")
	set.StringVar(&store.ServerName, FlagStoreServer, "", "server name in the store's certificate; defaults to the host of the address")
	set.StringVar(image, FlagExecImage, "", "image of the supervisor, the agent of the exec driver")
}

// Complete applies fields where the flag is not set: the store, whether each workload has its own store user, and the supervisor's image.
func (c Config) Complete(set *pflag.FlagSet, store *Store, acl *bool, image *string) {
	for _, one := range []struct {
		flag, file string
		into       *string
	}{
		{FlagStoreAddress, c.StoreAddress, &store.Address},
		{FlagStoreUsername, c.StoreUsername, &store.Username},
		{FlagStoreSecret, c.StoreSecret, &store.Secret},
		{FlagStoreSecretKey, c.StoreSecretKey, &store.SecretKey},
		{FlagStoreServer, c.StoreServer, &store.ServerName},
		{FlagExecImage, c.ExecImage, image},
	} {
		CompleteText(set, one.flag, one.file, one.into)
	}
	if !set.Changed(FlagStoreACL) {
		*acl = c.StoreACL
	}
	if !set.Changed(FlagStoreTLS) {
		store.TLS = c.StoreTLS
	}
}

// CompleteText applies a field that is not empty if its flag is not set.
func CompleteText(set *pflag.FlagSet, flag, field string, into *string) {
	if field != "" && !set.Changed(flag) {
		*into = field
	}
}

// Check validates the store flags. acl means that each workload of the kind has its own store user.
func (s Store) Check(acl bool, kind string) []error {
	if s.TLS && !acl && s.Secret == "" {
		return []error{fmt.Errorf("--%s: agents read the store's CA from their Secret: set --%s or --%s", FlagStoreTLS, FlagStoreACL, FlagStoreSecret)}
	}
	if acl && (s.Secret != "" || s.Username != "") {
		return []error{fmt.Errorf("--%s gives each %s its own store user: omit --%s and --%s", FlagStoreACL, kind, FlagStoreUsername, FlagStoreSecret)}
	}
	if s.Address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.Address); err != nil || host == "" || port == "" {
		return []error{fmt.Errorf("--%s (inPlace.storeAddress): %q is not host:port", FlagStoreAddress, s.Address)}
	}
	return nil
}

// Flags of managers that add agents to pods: the store as seen from pods, and the supervisor's image.
const (
	FlagStoreAddress   = "inplace-store-address"
	FlagStoreUsername  = "inplace-store-username"
	FlagStoreSecret    = "inplace-store-secret"
	FlagStoreSecretKey = "inplace-store-secret-key"
	FlagStoreACL       = "inplace-store-acl"
	FlagStoreTLS       = "inplace-store-tls"
	FlagStoreServer    = "inplace-store-tls-server-name"
	FlagExecImage      = "inplace-exec-image"
)
