package boards

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Grafana's JSON model. Fields with default values are omitted. The order of fields is the order in the file.
type (
	dashboard struct {
		UID           string     `json:"uid"`
		Title         string     `json:"title"`
		Description   string     `json:"description"`
		Tags          []string   `json:"tags"`
		SchemaVersion int        `json:"schemaVersion"`
		Editable      bool       `json:"editable"`
		Refresh       string     `json:"refresh"`
		Time          timeRange  `json:"time"`
		Templating    templating `json:"templating"`
		Panels        []panel    `json:"panels"`
	}
	timeRange struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	templating struct {
		List []variable `json:"list"`
	}
	variable struct {
		Name       string      `json:"name"`
		Label      string      `json:"label"`
		Type       string      `json:"type"`
		Query      string      `json:"query"`
		Datasource *datasource `json:"datasource,omitempty"`
		Refresh    int         `json:"refresh,omitempty"`
		Multi      bool        `json:"multi,omitempty"`
		IncludeAll bool        `json:"includeAll,omitempty"`
		AllValue   string      `json:"allValue,omitempty"`
	}
	datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	place struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	panel struct {
		ID          int         `json:"id"`
		Type        string      `json:"type"`
		Title       string      `json:"title"`
		Description string      `json:"description,omitempty"`
		GridPos     place       `json:"gridPos"`
		Datasource  *datasource `json:"datasource,omitempty"`
		FieldConfig *fields     `json:"fieldConfig,omitempty"`
		Targets     []target    `json:"targets,omitempty"`
	}
	fields struct {
		Defaults defaults `json:"defaults"`
	}
	defaults struct {
		Unit   string  `json:"unit"`
		Min    *int    `json:"min,omitempty"`
		Custom *custom `json:"custom,omitempty"`
	}
	custom struct {
		FillOpacity int      `json:"fillOpacity"`
		Stacking    stacking `json:"stacking"`
	}
	stacking struct {
		Mode string `json:"mode"`
	}
	target struct {
		RefID        string      `json:"refId"`
		Datasource   *datasource `json:"datasource"`
		Expr         string      `json:"expr"`
		LegendFormat string      `json:"legendFormat"`
	}
)

var source = &datasource{Type: "prometheus", UID: "${datasource}"}

// Sizes in Grafana's grid, which is 24 columns wide.
const (
	columns    = 24
	tall       = 8
	low        = 4
	perRow     = 3
	numbersRow = 4
)

// JSON returns the dashboard in the format that Grafana imports.
func (b Board) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(b.dashboard()); err != nil {
		return nil, fmt.Errorf("writing board %s: %w", b.UID, err)
	}
	return out.Bytes(), nil
}

func (b Board) dashboard() dashboard {
	return dashboard{
		UID: b.UID, Title: b.Title, Description: b.Description, Tags: []string{"holdfast"}, SchemaVersion: 39, Editable: true,
		Refresh: "30s", Time: timeRange{"now-6h", "now"}, Templating: templating{variables()}, Panels: b.panels(),
	}
}

func variables() []variable {
	return []variable{
		{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"},
		{
			Name: "namespace", Label: "Namespace of the controllers", Type: "query", Datasource: source, Refresh: 2, Multi: true, IncludeAll: true,
			AllValue: ".*", Query: "label_values(holdfast_build_info, namespace)",
		},
	}
}

func (b Board) panels() []panel {
	var all []panel
	y := 0
	for _, row := range b.Rows {
		all = append(all, panel{ID: len(all) + 1, Type: "row", Title: row.Title, GridPos: place{1, columns, 0, y}})
		y++
		var below int
		for i, p := range row.Panels {
			at := p.place(i, y)
			below = max(below, at.Y+at.H)
			all = append(all, p.grafana(len(all)+1, at))
		}
		y = below
	}
	return all
}

// place returns the position of the n-th panel of a row that starts at y. A row contains either numbers or graphs.
func (p Panel) place(n, y int) place {
	height, count := tall, perRow
	if p.Kind == Number {
		height, count = low, numbersRow
	}
	width := columns / count
	return place{H: height, W: width, X: n % count * width, Y: y + n/count*height}
}

func (p Panel) grafana(id int, at place) panel {
	zero := 0
	out := panel{
		ID: id, Type: string(p.Kind), Title: p.Title, Description: p.Description, GridPos: at, Datasource: source,
		FieldConfig: &fields{defaults{Unit: p.Unit, Min: &zero}},
	}
	if p.Kind == Stacked {
		out.Type = string(Lines)
		out.FieldConfig.Defaults.Custom = &custom{FillOpacity: 30, Stacking: stacking{"normal"}}
	}
	for i, q := range p.Queries {
		out.Targets = append(out.Targets, target{RefID: string(rune('A' + i)), Datasource: source, Expr: q.Expr, LegendFormat: q.Legend})
	}
	return out
}
