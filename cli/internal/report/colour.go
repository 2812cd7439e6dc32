package report

// Palette colours words, if it is to.
type Palette bool

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (p Palette) state(s State) string {
	if !p {
		return string(s)
	}
	switch s {
	case Training, Finished:
		return green + string(s) + reset
	case Failed:
		return red + string(s) + reset
	}
	return yellow + string(s) + reset
}
