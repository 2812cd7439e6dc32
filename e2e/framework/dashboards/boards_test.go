package dashboards

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadTheDashboardsOfTheCharts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "charts", "library", "files", "dashboards", "*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("found boards %v, error %v", files, err)
	}
	for _, file := range files {
		board, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if board.Title == "" || len(board.Panels) < 5 {
			t.Errorf("%s: %q has %d panels", file, board.Title, len(board.Panels))
		}
		for _, panel := range board.Panels {
			if len(panel.Queries) == 0 || panel.Unit == "" {
				t.Errorf("%s: %+v", board.Title, panel)
			}
			for _, query := range panel.Queries {
				if plain := query.Plain(time.Minute, time.Hour); strings.Contains(plain, "$") {
					t.Errorf("%s is left in %s", panel.Title, plain)
				}
			}
		}
	}
}

func TestLegends(t *testing.T) {
	q := Query{Legend: "{{program}} {{version}}"}
	if got := q.Name(map[string]string{"program": "jobset", "version": "v1", "other": "x"}); got != "jobset v1" {
		t.Errorf("got %q", got)
	}
}
