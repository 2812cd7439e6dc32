// Package boards builds the dashboards: their description, and the JSON that Grafana imports. Equal descriptions produce the same bytes, so
// that generated files change only when a dashboard does.
package boards

// Board is a dashboard.
type Board struct {
	// UID and File must not change, because links and bookmarks contain them.
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

// Kinds of panels.
const (
	Lines   Kind = "timeseries"
	Stacked Kind = "stacked" // stacked lines, for parts of a whole
	Number  Kind = "stat"
)

// Units, as Grafana names them.
const (
	Count      = "short"
	Seconds    = "s"
	Share      = "percentunit"
	PerSecond  = "ops"
	Bytes      = "bytes"
	PerSeconds = "none" // seconds per second
)

// Panel is one panel of a row.
type Panel struct {
	Title       string
	Description string // what it shows, and what to do about it
	Kind        Kind
	Unit        string
	Queries     []Query
}

// Query is an expression, and the legend of its series.
type Query struct{ Expr, Legend string }

// All returns all dashboards.
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
