// Package app is the command line: what is asked for, by which flags.
package app

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/cli/internal/report"
	"github.com/holdfast-project/holdfast/shared/timeline"
	"github.com/holdfast-project/holdfast/shared/version"
)

// Terminal is what the command writes to, and its clock.
type Terminal struct {
	Out, Err io.Writer
	// Interactive: people look at Out, so that colours and lines that change make sense.
	Interactive bool
	Now         func() time.Time
	After       func(time.Duration) <-chan time.Time
}

// System is the terminal of this process. Colours follow the convention of NO_COLOR.
func System() Terminal {
	return Terminal{Out: os.Stdout, Err: os.Stderr, Interactive: term.IsTerminal(int(os.Stdout.Fd())), Now: time.Now, After: time.After}
}

// command has what all subcommands share.
type command struct {
	Terminal
	flags  *genericclioptions.ConfigFlags
	output string
}

// formats of output, the default first.
var formats = []string{"table", "wide", "json", "yaml"}

// Command is `kubectl holdfast`.
func Command(t Terminal) *cobra.Command {
	c := &command{Terminal: t, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use: "kubectl-holdfast", Short: "What happens to training jobs when something fails",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl holdfast"},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Version(),
	}
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	c.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVarP(&c.output, "output", "o", formats[0], "one of "+strings.Join(formats, ", "))
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, c.output) {
			return fmt.Errorf("--output is %q, not one of %s", c.output, strings.Join(formats, ", "))
		}
		return nil
	}
	root.AddCommand(c.status(), c.timeline(), c.why(), c.top())
	return root
}

// Limits of requests a second, those of kubectl's discovery: the 5 of client-go are fewer than one look at a workload of thousands of pods takes.
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

func (c *command) reader() (read.Reader, string, error) {
	config, err := c.config()
	if err != nil {
		return read.Reader{}, "", err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return read.Reader{}, "", err
	}
	mapper, err := c.flags.ToRESTMapper()
	if err != nil {
		return read.Reader{}, "", err
	}
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	return read.Reader{Client: client, Mapper: mapper}, namespace, err
}

// tell says what one has no right to, so that nobody takes what is not shown for not there.
func (c *command) tell(refused read.Forbidden) {
	if len(refused) > 0 {
		fmt.Fprintf(c.Err, "warning: no right to %s: what they would tell is not shown\n", refused)
	}
}

func (c *command) wide() bool { return c.output == "wide" }

func (c *command) encoded() bool { return c.output == "json" || c.output == "yaml" }

func (c *command) palette() report.Palette {
	_, never := os.LookupEnv("NO_COLOR")
	return report.Palette(c.Interactive && !never)
}

const naming = `NAME may be that of any object of the workload: AppWrapper, JobSet, ElasticJob, CronJob, Job, Deployment, StatefulSet. Where several
kinds have the name, KIND/NAME says which; the workload is shown from its root.`

func (c *command) status() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use: "status NAME", Short: "Is it training, who is not, what was lost, what does it wait for", Long: naming, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if watch && c.output != formats[0] {
				return fmt.Errorf("--watch writes one line, for people: there is none with --output %s", c.output)
			}
			r, namespace, err := c.reader()
			if err != nil {
				return err
			}
			if watch {
				r.Cached = true
				return c.watch(cmd.Context(), r, namespace, args[0])
			}
			w, err := r.Workload(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			c.tell(w.Forbidden)
			s := report.Of(w, c.Now())
			if c.encoded() {
				return report.Encode(c.Out, c.output, s)
			}
			s.Text(c.Out, c.wide(), c.palette())
			return nil
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on with one line, which changes with the workload, until it has finished or failed")
	return cmd
}

func (c *command) timeline() *cobra.Command {
	return &cobra.Command{
		Use: "timeline NAME", Short: "What happened to it, across programs, oldest first", Long: naming, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, namespace, err := c.reader()
			if err != nil {
				return err
			}
			w, err := r.Workload(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			c.tell(w.Forbidden)
			list := timeline.Of(w.Timeline(), c.Now())
			if c.encoded() {
				return report.Encode(c.Out, c.output, list)
			}
			_, err = fmt.Fprint(c.Out, timeline.Text(list))
			return err
		},
	}
}

func (c *command) why() *cobra.Command {
	return &cobra.Command{
		Use: "why POD", Short: "Why a pod was moved, or is not; -o wide: who answers which fault of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, namespace, err := c.reader()
			if err != nil {
				return err
			}
			p, err := r.Pod(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			c.tell(p.Forbidden)
			why := report.WhyOf(p, c.Now())
			if c.encoded() {
				return report.Encode(c.Out, c.output, why)
			}
			why.Text(c.Out, c.wide())
			return nil
		},
	}
}

func (c *command) top() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "top", Short: "Workloads by the time they lost to failures", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, namespace, err := c.reader()
			if err != nil {
				return err
			}
			if all {
				namespace = ""
			}
			list, refused, err := r.All(cmd.Context(), namespace)
			if err != nil {
				return err
			}
			c.tell(refused)
			rows := report.Top(list, c.Now())
			if c.encoded() {
				return report.Encode(c.Out, c.output, rows)
			}
			report.TopText(c.Out, rows, c.wide())
			return nil
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "those of all namespaces")
	return cmd
}
