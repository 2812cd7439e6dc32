// Package supervise adds the supervisor of the exec driver to pods: the installer, the volumes, the command and the variables. Which
// pods get one, and whose workers they are, is for those who plan the pods. It is pure.
package supervise

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"
)

// Config is what the file of a manager that adds agents to pods may say of them. A flag that is set overrides a field.
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

// Complete lets fields stand for flags that are not set: where the store is, whether each workload has a user of its own, and the
// supervisor's image.
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

// CompleteText lets a field that is not empty stand for a flag that is not set.
func CompleteText(set *pflag.FlagSet, flag, field string, into *string) {
	if field != "" && !set.Changed(flag) {
		*into = field
	}
}

// Check returns what is wrong with the flags of a store; with an ACL each workload of the kind has a user of its own. agents is
// what the kind calls them.
func (s Store) Check(acl bool, agents, kind string) []error {
	if s.TLS && !acl && s.Secret == "" {
		return []error{fmt.Errorf("--%s: %s find the store's CA in their Secret: set --%s or --%s", FlagStoreTLS, agents, FlagStoreACL, FlagStoreSecret)}
	}
	if acl && (s.Secret != "" || s.Username != "") {
		return []error{fmt.Errorf("--%s gives each %s a user of its own: leave out --%s and --%s", FlagStoreACL, kind, FlagStoreUsername, FlagStoreSecret)}
	}
	if s.Address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(s.Address); err != nil || host == "" || port == "" {
		return []error{fmt.Errorf("--%s (inPlace.storeAddress): %q is not host:port", FlagStoreAddress, s.Address)}
	}
	return nil
}

// Flags of every manager that adds agents to pods: where the store is, as pods reach it, and the supervisor's image.
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
