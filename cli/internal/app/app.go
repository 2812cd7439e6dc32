// Package app defines the commands and flags of the kubectl plugin.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/cli/internal/report"
	"github.com/holdfast-project/holdfast/shared/timeline"
	"github.com/holdfast-project/holdfast/shared/version"
)

// Terminal holds the output streams and the clock of the command.
type Terminal struct {
	Out, Err io.Writer
	Now      func() time.Time
	After    func(time.Duration) <-chan time.Time
}

func System() Terminal {
	return Terminal{Out: os.Stdout, Err: os.Stderr, Now: time.Now, After: time.After}
}

// command holds the state shared by all subcommands.
type command struct {
	Terminal
	flags  *genericclioptions.ConfigFlags
	output string
}

// formats lists the output formats, the default first.
var formats = []string{"table", "wide", "json", "yaml"}

func Command(t Terminal) *cobra.Command {
	c := &command{Terminal: t, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use: "kubectl-holdfast", Short: "Show how training jobs recover from failures",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl holdfast"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Version(),
	}
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVarP(&c.output, "output", "o", formats[0], "output format, one of "+strings.Join(formats, ", "))
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, c.output) {
			return fmt.Errorf("--output is %q, not one of %s", c.output, strings.Join(formats, ", "))
		}
		return nil
	}
	root.AddCommand(c.status(), c.timeline(), c.why(), c.top())
	return root
}

// Request limits. They are the same as kubectl's limits for discovery. client-go's default of 5 per second is too low for workloads with
// thousands of pods.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 300
)

func (c *command) config() (*rest.Config, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	return config, nil
}

// run returns a function that runs a subcommand with a reader and the namespace from the flags.
func (c *command) run(
	do func(ctx context.Context, r read.Reader, namespace string, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		config, err := c.config()
		if err != nil {
			return err
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		mapper, err := c.flags.ToRESTMapper()
		if err != nil {
			return err
		}
		namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return err
		}
		return do(cmd.Context(), read.Reader{Client: client, Mapper: mapper}, namespace, args)
	}
}

func (c *command) show(refused read.Forbidden, answer any, asText func()) error {
	c.warnForbidden(refused)
	if c.output == "json" || c.output == "yaml" {
		return report.Encode(c.Out, c.output, answer)
	}
	asText()
	return nil
}

// warnForbidden warns about missing permissions, so that users do not assume that hidden objects do not exist.
func (c *command) warnForbidden(refused read.Forbidden) {
	if len(refused) > 0 {
		fmt.Fprintf(c.Err, "warning: no permission to %s: the output is incomplete\n", refused)
	}
}

const naming = `NAME is the name of any object of the workload: an AppWrapper, JobSet, ElasticJob, LeaderWorkerSet, CronJob, Job, Deployment,
StatefulSet, or a pod that declares its restart group. Write KIND/NAME if several kinds have an object of that name. The output covers the whole workload, from its root owner.`

func (c *command) status() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "status NAME", Short: "Show whether a workload is training, what it is waiting for, and what it lost to failures", Long: naming, Args: cobra.ExactArgs(1),
		RunE: c.run(func(ctx context.Context, r read.Reader, namespace string, args []string) error {
			if watch && c.output != formats[0] {
				return fmt.Errorf("--watch cannot be combined with --output %s", c.output)
			}
			if watch {
				r.Cached = true
				return c.watch(ctx, r, namespace, args[0])
			}
			w, err := r.Workload(ctx, namespace, args[0])
			if err != nil {
				return err
			}
			s := report.Of(w, c.Now())
			return c.show(w.Forbidden, s, func() { s.Text(c.Out, c.output == "wide") })
		}),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print a line each time the status changes, until the workload has finished or failed")
	return cmd
}

func (c *command) timeline() *cobra.Command {
	return &cobra.Command{
		Use: "timeline NAME", Short: "Show what happened to a workload, across programs, oldest first", Long: naming, Args: cobra.ExactArgs(1),
		RunE: c.run(func(ctx context.Context, r read.Reader, namespace string, args []string) error {
			w, err := r.Workload(ctx, namespace, args[0])
			if err != nil {
				return err
			}
			list := timeline.Of(w.Timeline(), c.Now())
			return c.show(w.Forbidden, list, func() { fmt.Fprint(c.Out, timeline.Text(list)) })
		}),
	}
}

func (c *command) why() *cobra.Command {
	return &cobra.Command{
		Use: "why POD", Short: "Explain why a pod was or was not moved", Args: cobra.ExactArgs(1),
		RunE: c.run(func(ctx context.Context, r read.Reader, namespace string, args []string) error {
			p, err := r.Pod(ctx, namespace, args[0])
			if err != nil {
				return err
			}
			why := report.WhyOf(p, c.Now())
			return c.show(p.Forbidden, why, func() { why.Text(c.Out) })
		}),
	}
}

func (c *command) top() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "top", Short: "List workloads by the time they lost to failures", Args: cobra.NoArgs,
		RunE: c.run(func(ctx context.Context, r read.Reader, namespace string, _ []string) error {
			if all {
				namespace = ""
			}
			list, refused, err := r.All(ctx, namespace)
			if err != nil {
				return err
			}
			rows := report.Top(list, c.Now())
			return c.show(refused, rows, func() { report.TopText(c.Out, rows, c.output == "wide") })
		}),
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the workloads of all namespaces")
	return cmd
}
