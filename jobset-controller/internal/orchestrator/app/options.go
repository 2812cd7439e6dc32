// Package app wires the orchestrator: flags, the store, leader election, and what runs.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

const flagValkeyAddress = "valkey-address"

var configKind = schema.GroupVersionKind{Group: "config.holdfast.dev", Version: "v1alpha1", Kind: "OrchestratorConfiguration"}

// Configuration is the content of --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	Valkey ValkeyConfig `json:"valkey,omitempty"`
}

// ValkeyConfig is the store. A flag that is set overrides a field.
type ValkeyConfig struct {
	Address      string `json:"address,omitempty"` // host:port; overrides VALKEY_ADDRESS
	Username     string `json:"username,omitempty"`
	PasswordFile string `json:"passwordFile,omitempty"`
}

// Options is what the command line and the configuration file set.
type Options struct {
	bootstrap.Options

	ValkeyAddress      string
	ValkeyUsername     string
	ValkeyPasswordFile string
}

// NewOptions differs from the manager beside which it runs by addresses; and it always holds a Lease, whose token it leads by.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Elect = true
	o.Leader.Name = "holdfast-orchestrator"
	o.Metrics = bootstrap.Metrics{Address: "0"}
	o.Health.Address = ":8082"
	return o
}

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	set.StringVar(&o.ValkeyAddress, flagValkeyAddress, os.Getenv("VALKEY_ADDRESS"), "host:port of Valkey or Redis 7 (env VALKEY_ADDRESS)")
	set.StringVar(&o.ValkeyUsername, "valkey-username", "", "ACL user")
	set.StringVar(&o.ValkeyPasswordFile, "valkey-password-file", "", "file with the password; read again at every connection")
}

// Complete reads the configuration file and returns all that is wrong, in one error.
func (o *Options) Complete(set *pflag.FlagSet) error {
	var file Configuration
	if o.ConfigFile != "" {
		if err := bootstrap.ReadConfig(o.ConfigFile, configKind, &file); err != nil {
			return err
		}
	}
	if !set.Changed(flagValkeyAddress) {
		o.ValkeyAddress = cmp.Or(file.Valkey.Address, o.ValkeyAddress)
	}
	o.ValkeyUsername = cmp.Or(o.ValkeyUsername, file.Valkey.Username)
	o.ValkeyPasswordFile = cmp.Or(o.ValkeyPasswordFile, file.Valkey.PasswordFile)
	errs := append(o.Options.Complete(set, file.Config), o.validate()...)
	return bootstrap.Join(errs)
}

func (o *Options) validate() []error {
	var errs []error
	if o.ValkeyAddress == "" {
		errs = append(errs, errors.New("--valkey-address (valkey.address) is missing: give host:port of Valkey or Redis 7, or set VALKEY_ADDRESS"))
	} else if _, port, err := net.SplitHostPort(o.ValkeyAddress); err != nil || port == "" {
		errs = append(errs, fmt.Errorf("--valkey-address (valkey.address): %q is not host:port", o.ValkeyAddress))
	}
	if !o.Leader.Elect {
		errs = append(errs, errors.New("--leader-elect (leaderElection.leaderElect): false is not possible, the store knows the leader by its Lease"))
	}
	return errs
}

// Logging is what the zap flags say.
func (o *Options) Logging() *zap.Options { return &o.Zap }
