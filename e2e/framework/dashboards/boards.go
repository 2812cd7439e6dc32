// Package dashboards reads the Prometheus queries of the charts' dashboards.
package dashboards

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Board is a dashboard.
type Board struct {
	Title  string
	Panels []Panel
}

// Panel is one panel of a dashboard. Rows are left out.
type Panel struct {
	Title   string
	Kind    string // timeseries or stat
	Stacked bool
	Unit    string
	Queries []Query
}

// Query is an expression and the template for the names of its series.
type Query struct{ Expr, Legend string }

// Read reads a dashboard from a file.
func Read(file string) (Board, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return Board{}, err
	}
	var parsed struct {
		Title  string
		Panels []struct {
			Type, Title string
			FieldConfig struct {
				Defaults struct {
					Unit   string
					Custom struct{ Stacking struct{ Mode string } }
				}
			}
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return Board{}, fmt.Errorf("reading board %s: %w", file, err)
	}
	board := Board{Title: parsed.Title}
	for _, p := range parsed.Panels {
		if p.Type == "row" {
			continue
		}
		defaults := p.FieldConfig.Defaults
		panel := Panel{Title: p.Title, Kind: p.Type, Stacked: defaults.Custom.Stacking.Mode == "normal", Unit: defaults.Unit}
		for _, t := range p.Targets {
			panel.Queries = append(panel.Queries, Query{t.Expr, t.LegendFormat})
		}
		board.Panels = append(board.Panels, panel)
	}
	return board, nil
}

// Plain returns the expression with Grafana's variables replaced: all namespaces, and the given time windows.
func (q Query) Plain(rate, whole time.Duration) string {
	return strings.NewReplacer("$namespace", ".*", "$__rate_interval", seconds(rate), "$__range", seconds(whole)).Replace(q.Expr)
}

// Name returns the name of a series in the legend.
func (q Query) Name(labels map[string]string) string {
	name := q.Legend
	for label, value := range labels {
		name = strings.ReplaceAll(name, "{{"+label+"}}", value)
	}
	return name
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }
