package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// maxNamed bounds a list of pods in a table that is not wide.
const maxNamed = 5

// Text writes a status for people. Wide: all pods that are not ready, and the objects.
func (s Status) Text(out io.Writer, wide bool, p Palette) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s:\t%s\n", name, value)
		}
	}
	line("Workload", fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name))
	line("State", p.state(s.State))
	switch s.State {
	case Failed:
		line("Failed of", s.WaitsFor)
	case Unknown:
		line("Because", s.WaitsFor)
	default:
		line("Waits for", s.WaitsFor)
	}
	if s.PodsHidden != "" {
		line("Workers", "not known")
	} else {
		line("Workers", fmt.Sprintf("%d of %d ready", s.Ready, s.Workers))
	}
	line("Elastic", s.Elastic)
	line("Out of sync", s.OutOfSync)
	line("Quota", s.Quota)
	var counted []string
	for _, c := range s.Counters {
		counted = append(counted, c.String())
	}
	line("Counted", strings.Join(counted, ", "))
	line("Time lost", timeline.Loss{Time: s.LostNanoseconds, NotTimed: s.NotTimed}.String())
	if wide {
		line("Objects", strings.Join(s.Objects, ", "))
	}
	w.Flush()
	s.writeNotReady(out, wide)
	if len(s.Last) > 0 {
		fmt.Fprintf(out, "\n%s", timeline.Text(s.Last))
	}
}

func (s Status) writeNotReady(out io.Writer, wide bool) {
	if len(s.NotReady) == 0 {
		return
	}
	fmt.Fprintln(out, "\nNot ready:")
	for i, pod := range s.NotReady {
		if i == maxNamed && !wide {
			fmt.Fprintf(out, "  and %d more (-o wide)\n", len(s.NotReady)-i)
			break
		}
		fmt.Fprintln(out, "  "+pod)
	}
}

// Line is a status in one line, for watching a restart.
func (s Status) Line(p Palette, now time.Time) string {
	text := fmt.Sprintf("%s  %s %s  ", now.UTC().Format("15:04:05"), s.Kind, s.Name)
	if s.PodsHidden != "" {
		text += "workers not known"
	} else {
		text += fmt.Sprintf("%d of %d ready", s.Ready, s.Workers)
	}
	for _, c := range s.Counters {
		text += "  " + c.String()
	}
	text += "  " + p.state(s.State)
	if s.Recovery != nil {
		text += fmt.Sprintf(" on rung %d, %s left: %s", s.Recovery.Rung, s.Recovery.Deadline.Sub(now).Round(time.Second), s.Recovery.Reason)
	} else if why := cmp.Or(s.WaitsFor, s.Elastic); why != "" {
		text += ": " + why
	}
	return text
}

// Text writes an explanation for people. Wide: who answers which fault.
func (w Why) Text(out io.Writer, wide bool) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "Pod:\t%s\n", w.Pod)
	fmt.Fprintf(t, "Node:\t%s\n", dash(w.Node))
	fmt.Fprintf(t, "State:\t%s\n", w.State)
	fmt.Fprintf(t, "Owners:\t%s\n", dash(strings.Join(w.Owners, " < ")))
	if len(w.Avoids) > 0 {
		fmt.Fprintf(t, "Avoids:\t%s\n", strings.Join(w.Avoids, ", "))
	}
	fmt.Fprintf(t, "Moved:\t%s\n", w.Verdict)
	t.Flush()
	if len(w.Said) > 0 {
		fmt.Fprintln(out, "\nSaid about it:")
		for _, s := range w.Said {
			fmt.Fprintf(out, "  %s  %s: %s\n", s.At.UTC().Format("2006-01-02 15:04:05"), s.Reason, s.Message)
		}
	}
	if !wide || len(w.Answers) == 0 {
		return
	}
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FAULT\tFIRST\tTHEN")
	for _, a := range w.Answers {
		fmt.Fprintf(t, "%s\t%s\t%s\n", a.Fault, a.First, dash(strings.Join(a.Then, ", ")))
	}
	t.Flush()
}

// TopText writes the rows for people. Wide: recoveries by rung.
func TopText(out io.Writer, rows []Row, wide bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "NAMESPACE\tKIND\tNAME\tLOST\tOF ITS TIME\tRECOVERIES\tSLOWEST"
	if wide {
		head += "\tRUNGS 1-6\tCAUSE OF THE SLOWEST"
	}
	fmt.Fprintln(w, head)
	for _, r := range rows {
		slowest, cause := "-", "-"
		if r.Slowest != nil {
			slowest, cause = r.Slowest.TookText(), dash(r.Slowest.Cause)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s", r.Namespace, r.Kind, r.Name, r.loss(), r.shareText(), r.recoveries(), slowest)
		if wide {
			fmt.Fprintf(w, "\t%s\t%s", strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Rungs), " ", "/"), "[]"), cause)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func (r Row) shareText() string {
	if r.LostNanoseconds == 0 && r.NotTimed > 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*r.Share)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
