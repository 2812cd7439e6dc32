// Package bootstrap provides what every manager needs to start: flags, a configuration file, a connection to the cluster, webhook
// certificates, health checks, metrics, leader election, and a clean shutdown.
//
//	main -> Main: flags -> file -> report all errors at once (exit 2) -> Program.Run
//	Run  -> New:  manager with metrics, health checks and the Lease
//	     -> Start: certificates -> webhooks -> ready;   Lease -> controllers;   SIGTERM -> stop, release, exit 0
//
// Only webhooks and readiness wait for certificates. Controllers start without them, so that a missing certificate does not delay a recovery.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Program is a program that Main can run.
type Program interface {
	// Flags registers the flags, including those of Options.
	Flags(*pflag.FlagSet)
	// Complete reads the configuration file and returns all invalid settings.
	Complete(*pflag.FlagSet) error
	// Logging returns the logging options. Call it after Complete.
	Logging() *zap.Options
	// Run runs the program against the cluster until ctx is done.
	Run(ctx context.Context, cluster *rest.Config) error
}

// Main runs the program until SIGTERM or SIGINT and returns its exit code: 0 after a clean shutdown, 1 after a failure, and 2 for invalid
// flags or an invalid configuration file. A second signal ends the process immediately.
func Main(name string, p Program, args []string) int {
	return run(ctrl.SetupSignalHandler(), name, p, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, name string, p Program, args []string, stdout, stderr io.Writer) int {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	err := Parse(set, p, args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "Usage of %s:\n%s", name, set.FlagUsages())
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitUsage
	}
	logger := zap.New(zap.UseFlagOptions(p.Logging()))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	if err := start(ctx, p); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailed
	}
	return exitOK
}

// Parse parses the arguments and the configuration file, and returns all errors.
func Parse(set *pflag.FlagSet, p Program, args []string) error {
	set.Usage = func() {} // no usage page after an invalid flag
	p.Flags(set)
	if err := set.Parse(twoDashes(args)); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return p.Complete(set)
}

// twoDashes adds the second dash to flags with a single dash, which the manifests of upstream controllers use. The only short flag is -h.
func twoDashes(args []string) []string {
	own := slices.Clone(args)
	for i, arg := range own {
		if arg == "--" {
			break
		}
		if len(arg) > 2 && arg[0] == '-' && unicode.IsLetter(rune(arg[1])) {
			own[i] = "-" + arg
		}
	}
	return own
}

// Manage runs a manager until ctx is done. It calls add to add controllers once the API server serves the kinds, and returns an error if the
// kinds are not served in time.
func Manage(
	ctx context.Context, cluster *rest.Config, o *Options, s Setup, add func(context.Context, ctrl.Manager) error, kinds ...schema.GroupVersionKind,
) error {
	mgr, err := New(cluster, o, s)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := mgr.AwaitKind(ctx, kind); err != nil {
			return err
		}
	}
	for _, index := range s.Indexes {
		if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
			return fmt.Errorf("adding indexes: %w", err)
		}
	}
	if err := add(ctx, mgr); err != nil {
		return fmt.Errorf("adding controllers: %w", err)
	}
	return mgr.Start(ctx)
}

// NewScheme returns a scheme with the client-go kinds and those registered by add.
func NewScheme(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, each := range append(add, clientgoscheme.AddToScheme) {
		utilruntime.Must(each(scheme))
	}
	return scheme
}

func start(ctx context.Context, p Program) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	return p.Run(ctx, cluster)
}
