package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// maxNamed is the maximum number of pods listed in a table that is not wide.
const maxNamed = 5

// Text writes a status as text. wide adds the objects and all pods that are not ready.
func (s Status) Text(out io.Writer, wide bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			timeline.Fprintf(w, "%s:\t%s\n", name, value)
		}
	}
	line("Workload", fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name))
	line("State", string(s.State))
	if s.State == Failed {
		line("Reason", s.WaitsFor)
	} else {
		line("Waiting for", s.WaitsFor)
	}
	line("Workers", fmt.Sprintf("%d of %d ready", s.Ready, s.Workers))
	if s.Spares > 0 {
		line("Spares", fmt.Sprintf("%d of %d ready", s.SparesReady, s.Spares))
	}
	line("Elastic", s.Elastic)
	line("Out of sync", s.OutOfSync)
	line("Quota", s.Quota)
	var counted []string
	for _, c := range s.Counters {
		counted = append(counted, c.String())
	}
	line("Counted", strings.Join(counted, ", "))
	line("Time lost", s.Loss.String())
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
		timeline.Fprintf(out, "  %s\n", pod)
	}
}

// Line returns a status as a single line, for --watch. Counters come last, because a LeaderWorkerSet may have hundreds of them.
func (s Status) Line() string {
	var text strings.Builder
	timeline.Fprintf(&text, "%s %s  %d of %d ready  %s", s.Kind, s.Name, s.Ready, s.Workers, string(s.State))
	if s.Recovery != nil {
		until := s.Recovery.Deadline.UTC().Format("15:04:05")
		timeline.Fprintf(&text, " at recovery level %d, until %s at the latest: %s", s.Recovery.Level, until, s.Recovery.Reason)
	} else if why := cmp.Or(s.WaitsFor, s.Elastic); why != "" {
		timeline.Fprintf(&text, ": %s", why)
	}
	for _, c := range s.Counters {
		timeline.Fprintf(&text, "  %s", c.String())
	}
	return text.String()
}

func (w Why) Text(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	timeline.Fprintf(t, "Pod:\t%s\n", w.Pod)
	timeline.Fprintf(t, "Node:\t%s\n", cmp.Or(w.Node, "-"))
	timeline.Fprintf(t, "State:\t%s\n", w.State)
	timeline.Fprintf(t, "Owners:\t%s\n", cmp.Or(strings.Join(w.Owners, " < "), "-"))
	if len(w.Avoids) > 0 {
		timeline.Fprintf(t, "Avoids:\t%s\n", strings.Join(w.Avoids, ", "))
	}
	timeline.Fprintf(t, "Moved:\t%s\n", w.Verdict)
	t.Flush()
	if len(w.Said) > 0 {
		fmt.Fprintln(out, "\nMessages about it:")
		for _, s := range w.Said {
			timeline.Fprintf(out, "  %s  %s: %s\n", s.At.UTC().Format("2006-01-02 15:04:05"), s.Reason, s.Message)
		}
	}
}

// TopText writes the rows as text. wide adds recoveries by level.
func TopText(out io.Writer, rows []Row, wide bool) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "NAMESPACE\tKIND\tNAME\tLOST\tOF ITS TIME\tRECOVERIES\tSLOWEST"
	if wide {
		head += "\tLEVELS 1-6\tCAUSE OF THE SLOWEST"
	}
	fmt.Fprintln(w, head)
	for _, r := range rows {
		slowest, cause := "-", "-"
		if r.Slowest != nil {
			slowest, cause = r.Slowest.TookText(), cmp.Or(r.Slowest.Cause, "-")
		}
		timeline.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s", r.Namespace, r.Kind, r.Name, r.Loss, r.shareText(), r.recoveries(), slowest)
		if wide {
			timeline.Fprintf(w, "\t%s\t%s", strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Levels), " ", "/"), "[]"), cause)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

func (r Row) shareText() string {
	if r.Loss.Time == 0 && r.NotTimed > 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*r.Share)
}

// controls matches the control characters that package json does not escape. Terminals interpret them, and YAML does not allow them.
var controls = regexp.MustCompile(`[\x{7f}-\x{9f}]`)

// Encode writes a value as JSON or YAML with the same keys.
func Encode(out io.Writer, format string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	content = controls.ReplaceAllFunc(append(content, '\n'), func(c []byte) []byte { return fmt.Appendf(nil, "\\u%04x", []rune(string(c))[0]) })
	if format == "yaml" {
		if content, err = yaml.JSONToYAML(content); err != nil {
			return err
		}
	}
	_, err = out.Write(content)
	return err
}

type Row struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	timeline.Loss
	// Levels counts recoveries by level, 1 to 6.
	Levels [6]int `json:"levels"`
	// Slowest is the slowest recovery; nil if there was none.
	Slowest *timeline.Entry `json:"slowest,omitempty"`
	Share   float64         `json:"lostShare"` // share of the time since the workload was created, 0 to 1
}

func (r Row) recoveries() int {
	n := 0
	for _, c := range r.Levels {
		n += c
	}
	return n
}

// Top sorts workloads by lost time, then by the number of recoveries.
func Top(all []*read.Workload, now time.Time) []Row {
	rows := []Row{}
	for _, w := range all {
		entries := timeline.Of(w.Timeline(), now)
		root := w.Root()
		r := Row{Namespace: root.GetNamespace(), Kind: root.GetKind(), Name: root.GetName(), Loss: timeline.Lost(entries)}
		for i := range entries {
			e := &entries[i]
			if !e.Recovery() || e.Level > len(r.Levels) {
				continue
			}
			r.Levels[e.Level-1]++
			if r.Slowest == nil || e.Took > r.Slowest.Took {
				r.Slowest = e
			}
		}
		if age := now.Sub(root.GetCreationTimestamp().Time); age > 0 {
			r.Share = min(1, r.Loss.Time.Seconds()/age.Seconds())
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Loss.Time, a.Loss.Time), cmp.Compare(b.recoveries(), a.recoveries()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return rows
}
