package app

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// InPlaceConfig is what is added to the pods of ElasticJobs that ask for restarts in place. A flag that is set overrides a field.
type InPlaceConfig = supervise.Config

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
	file.Complete(set, &a.Store, &a.StoreACL, &a.ExecImage)
	return a.Store.Check(a.StoreACL, "supervisors", "ElasticJob")
}
