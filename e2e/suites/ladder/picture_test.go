//go:build e2e && e2e_all

package ladder

import (
	"os"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/framework/picture"
)

// draw writes a picture of the recoveries to the file that HOLDFAST_LADDER names, if it is set.
func (r *run) draw() {
	r.Helper()
	file := os.Getenv("HOLDFAST_LADDER")
	if file == "" || r.Failed() {
		return
	}
	svg := picture.Ladder("One workload, eight faults", r.timeline())
	if !strings.Contains(svg, "evacuation") {
		r.Error("the picture lacks the evacuation")
	}
	r.must(os.WriteFile(file, []byte(svg), 0o644))
}
