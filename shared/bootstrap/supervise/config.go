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

// Check validates the store flags. acl means that each workload of the kind has its own store user. agents is the kind's name for its
// agents.
func (s Store) Check(acl bool, agents, kind string) []error {
	if s.TLS && !acl && s.Secret == "" {
		return []error{fmt.Errorf("--%s: %s read the store's CA from their Secret: set --%s or --%s", FlagStoreTLS, agents, FlagStoreACL, FlagStoreSecret)}
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
