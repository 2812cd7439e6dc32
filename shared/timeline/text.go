package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/holdfast-project/holdfast/shared/notes"
)

// Text formats a timeline as a table with one line per entry, oldest first.
func Text(list []Entry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TIME (UTC)\tLEVEL\tWHAT\tCOUNTED\tTOOK\tWHERE\tCAUSE")
	for _, e := range list {
		Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			e.At.UTC().Format("2006-01-02 15:04:05.000"), e.LevelText(), e.WhatText(), e.CountText(), e.TookText(), e.Where(), cmp.Or(brief(e.Cause), nothing))
	}
	w.Flush()
	return b.String()
}

const nothing = "-"

// maxCause limits the length of a cause in the table, in bytes. JSON and YAML contain the full cause.
const maxCause = 160

// Fprintf formats like fmt.Fprintf, with each string argument on one line and without control characters. Annotations and messages can
// contain any text, which must not control the terminal or imitate rows and columns.
func Fprintf(w io.Writer, format string, args ...any) {
	for i, arg := range args {
		if s, is := arg.(string); is {
			args[i] = oneLine(s)
		}
	}
	fmt.Fprintf(w, format, args...)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.Join(strings.Fields(s), " "))
}

func brief(s string) string {
	if s = oneLine(s); len(s) > maxCause {
		s = notes.Truncate(s, maxCause) + "..."
	}
	return s
}

// LevelText returns the recovery level, or a dash.
func (e Entry) LevelText() string {
	if e.Level == 0 {
		return nothing
	}
	return fmt.Sprint(e.Level)
}

// WhatText returns what happened. If there is no recovery level, the text includes the object's kind.
func (e Entry) WhatText() string {
	kind, _, _ := strings.Cut(e.Object, " ")
	text := string(e.What)
	if e.What == Replaced && e.Result == workerAbandoned {
		return "worker " + workerAbandoned
	}
	if e.Level == 0 && e.What != Noted {
		text = kind + " " + text
	}
	if e.Result != "" {
		text += ", " + e.Result
	}
	return text
}

// CountText returns the count, such as "2 of 5".
func (e Entry) CountText() string {
	switch {
	case e.Count == 0:
		return nothing
	case e.Limit < 0:
		return fmt.Sprint(e.Count)
	}
	return fmt.Sprintf("%d of %d", e.Count, e.Limit)
}

// TookText returns the outage, or a dash.
func (e Entry) TookText() string {
	if e.Took == 0 {
		return nothing
	}
	text := Duration(e.Took)
	if e.Ongoing {
		text += " so far"
	}
	return text
}

// Duration formats a duration: in milliseconds below ten seconds, in tenths of a second below ten minutes, and otherwise in whole
// seconds.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Where returns the worker and the node, if known.
func (e Entry) Where() string {
	switch {
	case e.Worker != "" && e.Node != "":
		return e.Worker + " on " + e.Node
	case e.Node != "":
		return e.Node
	}
	return cmp.Or(e.Worker, nothing)
}
