// Package boards makes the dashboards: what a board shows, in our own words, and the JSON that Grafana reads. The same input makes the
// same bytes, so that generated files change only when a board does.
package boards

// Board is a dashboard.
type Board struct {
	// UID and File stay as they are: links and bookmarks name them.
	UID         string
	File        string
	Title       string
	Description string
	Rows        []Row
}

// Row is a heading with its panels, from left to right.
type Row struct {
	Title  string
	Panels []Panel
}

// Kind is how a panel shows its series.
type Kind string

// The kinds in use.
const (
	Lines   Kind = "timeseries"
	Stacked Kind = "stacked" // lines on top of each other: parts of a whole
	Number  Kind = "stat"
)

// Units, in Grafana's words.
const (
	Count      = "short"
	Seconds    = "s"
	Share      = "percentunit"
	PerSecond  = "ops"
	Bytes      = "bytes"
	PerSeconds = "none" // seconds each second
)

// Panel is one picture.
type Panel struct {
	Title       string
	Description string // what it tells, and what to do about it
	Kind        Kind
	Unit        string
	Queries     []Query
}

// Query is an expression, and the text that names each of its series.
type Query struct{ Expr, Legend string }

// All boards.
func All() []Board { return []Board{Reliability(), Health(), Quota()} }

func lines(title, description, unit string, queries ...Query) Panel {
	return Panel{title, description, Lines, unit, queries}
}

func stacked(title, description, unit string, queries ...Query) Panel {
	return Panel{title, description, Stacked, unit, queries}
}

func number(title, description, unit, expr string) Panel {
	return Panel{title, description, Number, unit, []Query{{expr, ""}}}
}
