// Package app wires the orchestrator: flags, the store, leader election, and what runs.
package app

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Options is what the command line sets.
type Options struct {
	ValkeyAddress      string
	ValkeyUsername     string
	ValkeyPasswordFile string

	MetricsAddress string
	HealthAddress  string
	LeaseNamespace string
	LeaseName      string
	LeaseDuration  time.Duration
	QPS            float32
	Burst          int
	Workers        int

	Zap zap.Options
}

// Flags registers the flags. --kubeconfig comes from controller-runtime.
func (o *Options) Flags(set *pflag.FlagSet) {
	set.StringVar(&o.ValkeyAddress, "valkey-address", os.Getenv("VALKEY_ADDRESS"), "host:port of Valkey or Redis 7 (env VALKEY_ADDRESS)")
	set.StringVar(&o.ValkeyUsername, "valkey-username", "", "ACL user")
	set.StringVar(&o.ValkeyPasswordFile, "valkey-password-file", "", "file with the password; read again at every connection")
	set.StringVar(&o.MetricsAddress, "metrics-bind-address", "0", "address of the metrics endpoint; 0 turns it off")
	set.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8082", "address of /healthz and /readyz; 0 turns it off")
	set.StringVar(&o.LeaseNamespace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"), "namespace of the Lease (env POD_NAMESPACE)")
	set.StringVar(&o.LeaseName, "leader-election-name", "holdfast-orchestrator", "name of the Lease")
	set.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 15*time.Second, "how long a silent leader keeps the Lease")
	set.Float32Var(&o.QPS, "kube-api-qps", 500, "requests per second to the API server")
	set.IntVar(&o.Burst, "kube-api-burst", 500, "burst of requests to the API server")
	set.IntVar(&o.Workers, "max-concurrent-reconciles", 8, "JobSets that are worked on at a time")
	goFlags := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(goFlags)
	o.Zap.BindFlags(goFlags)
	set.AddGoFlagSet(goFlags)
}

// Validate returns all that is wrong, in one error.
func (o *Options) Validate() error {
	var errs []error
	if o.ValkeyAddress == "" {
		errs = append(errs, errors.New("--valkey-address is missing: give host:port of Valkey or Redis 7, or set VALKEY_ADDRESS"))
	} else if _, port, err := net.SplitHostPort(o.ValkeyAddress); err != nil || port == "" {
		errs = append(errs, fmt.Errorf("--valkey-address: %q is not host:port", o.ValkeyAddress))
	}
	if o.LeaseNamespace == "" {
		errs = append(errs, errors.New("--leader-election-namespace is missing: give a namespace, or set POD_NAMESPACE"))
	}
	if o.Workers < 1 {
		errs = append(errs, fmt.Errorf("--max-concurrent-reconciles: %d is not 1 or more", o.Workers))
	}
	if o.LeaseDuration < 3*time.Second {
		errs = append(errs, fmt.Errorf("--leader-election-lease-duration: %s is below 3s", o.LeaseDuration))
	}
	return join(errs)
}

// join puts the problems on one line each, without hiding how many there are.
func join(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return errors.New(strings.Join(lines, "; "))
}

func (o *Options) limit(c *rest.Config) *rest.Config {
	c.QPS, c.Burst = o.QPS, o.Burst
	return c
}
