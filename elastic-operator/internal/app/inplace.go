package app

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// InPlaceConfig is what is added to the pods of ElasticJobs that ask for restarts in place. A flag that is set overrides a field.
type InPlaceConfig struct {
	StoreAddress   string `json:"storeAddress,omitempty"` // host:port, as pods reach it
	StoreUsername  string `json:"storeUsername,omitempty"`
	StoreSecret    string `json:"storeSecret,omitempty"`    // in the namespace of the ElasticJob
	StoreSecretKey string `json:"storeSecretKey,omitempty"` // default password
	StoreACL       bool   `json:"storeACL,omitempty"`
	StoreTLS       bool   `json:"storeTLS,omitempty"`
	StoreServer    string `json:"storeTLSServerName,omitempty"`
	ExecImage      string `json:"execImage,omitempty"`
}

func inPlaceFlags(set *pflag.FlagSet, a *plan.Agents) {
	set.StringVar(&a.Store.Address, supervise.FlagStoreAddress, "", "host:port of Valkey or Redis 7, as pods reach it; without it no ElasticJob has restarts in place")
	set.StringVar(&a.Store.Username, supervise.FlagStoreUsername, "", "ACL user of the supervisors that are added")
	set.StringVar(&a.Store.Secret, supervise.FlagStoreSecret, "", "Secret with their password, in the namespace of the ElasticJob")
	set.StringVar(&a.Store.SecretKey, supervise.FlagStoreSecretKey, supervise.SecretPassword, "key of the password in that Secret")
	set.BoolVar(&a.StoreACL, supervise.FlagStoreACL, false, "they use the user and the Secret that the orchestrator makes for each ElasticJob (its --valkey-acl)")
	set.BoolVar(&a.Store.TLS, supervise.FlagStoreTLS, false, "they reach the store by TLS; their Secret holds ca.crt as well")
	set.StringVar(&a.Store.ServerName, supervise.FlagStoreServer, "", "whom the store's certificate is for; the host of the address if empty")
	set.StringVar(&a.ExecImage, supervise.FlagExecImage, "", "image of the supervisor that is added to workers")
}

// completeInPlace lets fields of the file stand for flags that are not set, and returns what is wrong.
func completeInPlace(set *pflag.FlagSet, a *plan.Agents, file InPlaceConfig) []error {
	for _, one := range []struct {
		flag, file string
		into       *string
	}{
		{supervise.FlagStoreAddress, file.StoreAddress, &a.Store.Address},
		{supervise.FlagStoreUsername, file.StoreUsername, &a.Store.Username},
		{supervise.FlagStoreSecret, file.StoreSecret, &a.Store.Secret},
		{supervise.FlagStoreSecretKey, file.StoreSecretKey, &a.Store.SecretKey},
		{supervise.FlagStoreServer, file.StoreServer, &a.Store.ServerName},
		{supervise.FlagExecImage, file.ExecImage, &a.ExecImage},
	} {
		if one.file != "" && !set.Changed(one.flag) {
			*one.into = one.file
		}
	}
	if !set.Changed(supervise.FlagStoreACL) {
		a.StoreACL = file.StoreACL
	}
	if !set.Changed(supervise.FlagStoreTLS) {
		a.Store.TLS = file.StoreTLS
	}
	return checkInPlace(*a)
}

func checkInPlace(a plan.Agents) []error {
	if a.Store.TLS && !a.StoreACL && a.Store.Secret == "" {
		return []error{fmt.Errorf("--%s: supervisors find the store's CA in their Secret: set --%s or --%s",
			supervise.FlagStoreTLS, supervise.FlagStoreACL, supervise.FlagStoreSecret)}
	}
	if a.StoreACL && (a.Store.Secret != "" || a.Store.Username != "") {
		return []error{fmt.Errorf("--%s gives each ElasticJob a user of its own: leave out --%s and --%s",
			supervise.FlagStoreACL, supervise.FlagStoreUsername, supervise.FlagStoreSecret)}
	}
	if a.Store.Address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(a.Store.Address); err != nil || host == "" || port == "" {
		return []error{fmt.Errorf("--%s (inPlace.storeAddress): %q is not host:port", supervise.FlagStoreAddress, a.Store.Address)}
	}
	return nil
}
