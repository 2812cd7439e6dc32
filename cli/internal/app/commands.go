package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-project/holdfast/cli/internal/report"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

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
