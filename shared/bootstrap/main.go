// Package bootstrap is what every manager starts with: flags and a configuration file, a connection to the cluster, webhook
// certificates, health checks that wait for them, metrics for those who may read them, leader election, and a clean end.
//
//	main -> Main: flags -> file -> all that is wrong, at once (exit 2) -> Program.Run
//	Run  -> New:  manager with metrics, health checks and the Lease
//	     -> Start: certificates -> webhooks -> ready;   Lease -> controllers;   SIGTERM -> stop, release, exit 0
//
// Controllers do not wait for certificates: a recovery is not held up by them. Only webhooks and readiness do.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"unicode"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Program is what Main runs.
type Program interface {
	// Flags registers the flags, those of Options among them.
	Flags(*pflag.FlagSet)
	// Complete reads the configuration file and returns all that is wrong with it and with the flags.
	Complete(*pflag.FlagSet) error
	// Logging is known after Complete.
	Logging() *zap.Options
	// Run works on the cluster until ctx ends.
	Run(ctx context.Context, cluster *rest.Config) error
}

// Main runs the program until SIGTERM or SIGINT and returns its exit code: 0 after a clean end, 1 after a failure, 2 if flags or
// the configuration file are wrong. A second signal ends the process at once.
func Main(name string, p Program, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect again
	return run(ctx, name, p, args, os.Stdout, os.Stderr)
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
	log(p.Logging())
	if err := start(ctx, p); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailed
	}
	return exitOK
}

// Parse reads the arguments and, through the program, its configuration file, and returns all that is wrong.
func Parse(set *pflag.FlagSet, p Program, args []string) error {
	set.Usage = func() {} // a wrong flag is one line, not a page
	p.Flags(set)
	if err := set.Parse(twoDashes(args)); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return p.Complete(set)
}

// twoDashes lets flags begin with one dash too, as in programs whose manifests are taken over. There are no short ones but -h.
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

// log gives all of the process one logger, client-go's lines too.
func log(options *zap.Options) {
	logger := zap.New(zap.UseFlagOptions(options))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}

func start(ctx context.Context, p Program) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	return p.Run(ctx, cluster)
}
