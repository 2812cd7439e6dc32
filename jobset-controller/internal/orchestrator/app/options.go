// Package app sets up the orchestrator: flags, the store, leader election, and the controllers.
package app

import (
	"net"
	"os"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// besideName is the name of the webhook configuration and the Lease of an installation that runs alongside the upstream
// controller. A cluster has one such installation.
const besideName = "holdfast-inplace"

var configKind = schema.GroupVersionKind{Group: "config.holdfast.dev", Version: "v1alpha1", Kind: "OrchestratorConfiguration"}

// Configuration is the content of the file given by --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	Valkey ValkeyConfig `json:"valkey,omitempty"`
	// InPlace configures what the webhook adds to Jobs if --webhooks is set.
	InPlace     *inject.Settings `json:"inPlace,omitempty"`
	ElasticJobs *bool            `json:"elasticJobs,omitempty"`
}

type ValkeyConfig struct {
	Address      *string `json:"address,omitempty"` // host:port; overrides VALKEY_ADDRESS
	Username     *string `json:"username,omitempty"`
	PasswordFile *string `json:"passwordFile,omitempty"`
	ACL          *bool   `json:"acl,omitempty"` // see --valkey-acl
	// TLS holds file names. Without a CA, TLS is disabled.
	TLS *valkey.TLSFiles `json:"tls,omitempty"`
}

// Options holds the settings from the command line and the configuration file.
type Options struct {
	bootstrap.Options

	Store valkey.Options // as seen from this program

	// ValkeyPasswordSecret and ValkeyTLSSecret name Secrets in the namespace of the Lease; see storeSecret.
	ValkeyPasswordSecret string
	ValkeyTLSSecret      string

	// Agents configures what the webhook adds to Jobs. With webhooks, the orchestrator leads the JobSets managed by the
	// upstream controller; without webhooks, those managed by our controller.
	Agents inject.Settings

	ElasticJobs bool // also lead the groups of ElasticJobs

	ValkeyACL            bool          // create a store user and a Secret for each owner
	ValkeyPasswordMaxAge time.Duration // maximum age of the agents' passwords; 0 means no limit
}

// NewOptions returns the defaults. The addresses differ from the defaults of the manager, which may run in the same
// pod. Leader election is always enabled, because the token comes from the Lease.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Elect = true
	o.Leader.Name = "holdfast-orchestrator"
	o.Metrics = bootstrap.Metrics{Address: "0"}
	o.Health.Address = ":8082"
	o.ServeWebhooks(besideName)
	o.Certificates.Validating, o.Certificates.Mutating = nil, []string{besideName}
	return o
}

func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	o.Agents.Flags(set, "workload")
	set.DurationVar(&o.Agents.Alone, "inplace-exit-without-store-after", time.Minute, "how long a worker that is not running waits for an unreachable store before its supervisor exits, so that the owner of the pod handles it; 0 means no limit")
	set.StringVar(&o.Store.Address, "valkey-address", os.Getenv("VALKEY_ADDRESS"), "host:port of Valkey or Redis 7 (env VALKEY_ADDRESS)")
	set.StringVar(&o.Store.Username, "valkey-username", "", "ACL user of the orchestrator")
	set.StringVar(&o.Store.PasswordFile, "valkey-password-file", "", "file with the password; read for every connection")
	set.StringVar(&o.ValkeyPasswordSecret, "valkey-password-secret", "", "Secret in the namespace of the Lease whose key \"password\" is copied to --valkey-password-file; if the Secret is empty, the orchestrator writes a random password first")
	set.StringVar(&o.ValkeyTLSSecret, "valkey-tls-secret", "", "Secret in the namespace of the Lease whose key ca.crt is copied to --valkey-tls-ca-file; if the Secret is empty, the orchestrator writes a certificate for --valkey-address first")
	set.StringVar(&o.Store.TLS.CA, "valkey-tls-ca-file", "", "file with the CA certificates of the store; enables TLS")
	set.StringVar(&o.Store.TLS.Cert, "valkey-tls-cert-file", "", "file with the client certificate")
	set.StringVar(&o.Store.TLS.Key, "valkey-tls-key-file", "", "file with the key of the client certificate")
	set.StringVar(&o.Store.TLS.ServerName, "valkey-tls-server-name", "", "server name in the store's certificate; defaults to the host of the address")
	set.BoolVar(&o.ValkeyACL, "valkey-acl", false, "create a store user for each workload, which can access only its own group, and a Secret with its password in the namespace of the workload; --valkey-username must be allowed to manage users")
	set.BoolVar(&o.ElasticJobs, "elasticjobs", false, "lead the groups of ElasticJobs with in-place restarts, as soon as the cluster serves the kind")
	set.DurationVar(&o.ValkeyPasswordMaxAge, "valkey-password-max-age", 30*24*time.Hour, "age at which the password of a workload's store user is rotated; 0 disables rotation")
}

// Complete reads the configuration file, and returns a single error that lists everything that is invalid.
func (o *Options) Complete(set *pflag.FlagSet) error {
	leads := o.Leader.Name
	file := Configuration{
		Config: o.Config(), InPlace: &o.Agents, ElasticJobs: &o.ElasticJobs,
		Valkey: ValkeyConfig{&o.Store.Address, &o.Store.Username, &o.Store.PasswordFile, &o.ValkeyACL, &o.Store.TLS},
	}
	if o.ConfigFile != "" {
		if err := bootstrap.ReadConfig(o.ConfigFile, configKind, set, &file); err != nil {
			return err
		}
	}
	errs := append(o.Options.Complete(set, file.Config), o.Agents.Check()...)
	if o.Webhooks && o.Leader.Name == leads {
		o.Leader.Name = besideName // not the Lease that an orchestrator for our own controller uses
	}
	return bootstrap.Join(append(errs, o.validate()...))
}

func (o *Options) validate() []error {
	var p bootstrap.Problems
	_, port, err := net.SplitHostPort(o.Store.Address)
	p.When(o.Store.Address == "", "--valkey-address (valkey.address) is missing: give host:port of Valkey or Redis 7, or set VALKEY_ADDRESS")
	p.When(o.Store.Address != "" && (err != nil || port == ""), "--valkey-address (valkey.address): %q is not host:port", o.Store.Address)
	err = o.Store.TLS.Check()
	p.When(err != nil, "--valkey-tls-* (valkey.tls): %w", err)
	p.When(o.ValkeyPasswordSecret != "" && o.Store.PasswordFile == "",
		"--valkey-password-secret: also set --valkey-password-file, to which the password is copied")
	p.When(o.ValkeyTLSSecret != "" && o.Store.TLS.CA == "", "--valkey-tls-secret: also set --valkey-tls-ca-file, to which the CA is copied")
	p.When(o.ValkeyPasswordMaxAge != 0 && o.ValkeyPasswordMaxAge <= credentials.Overlap,
		"--valkey-password-max-age must be 0 or longer than %s, for which the old password stays valid", credentials.Overlap)
	p.When(o.Webhooks && (o.Agents.Store.Address == "" || o.Agents.ExecImage == ""),
		"--webhooks adds agents to Jobs: set --%s and --%s", supervise.FlagStoreAddress, supervise.FlagExecImage)
	p.When(!o.Leader.Elect, "--leader-elect (leaderElection.leaderElect): must be true, because the store identifies the leader by its Lease")
	return p
}
