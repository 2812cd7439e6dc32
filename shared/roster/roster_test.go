package roster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

const pod = "2f3c7a58-6f5b-4a8e-9f0a-0d9b1f0f7a11"

func TestFormatAndParse(t *testing.T) {
	want := &Roster{Epoch: 2, Limit: 7, Timeout: 90 * time.Second, Members: []string{Member(0, pod), Member(11, pod)}}
	got, err := Of(map[string]string{Annotation: want.Format()})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	report := &Report{
		Epoch: 1, Round: 3, Phase: coordination.Restarting, Size: 2, Deadline: time.Unix(1790000001, 1).UTC(),
		Failures: []Failure{{At: 5, Member: Member(1, pod), Kind: "exit", Code: 137, Signal: 9}},
		Lost:     []Lost{{Member(0, pod), "it hangs"}},
	}
	read := ReportOf(map[string]string{ReportAnnotation: report.Format()})
	report.Deadline = time.Unix(1790000002, 0).UTC() // rounded up, never down
	if diff := cmp.Diff(report, read); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNoAnnotations(t *testing.T) {
	if r, err := Of(nil); r != nil || err != nil {
		t.Error(r, err)
	}
	if r := ReportOf(nil); r != nil {
		t.Error(r)
	}
}

func TestInvalidValues(t *testing.T) {
	fine := Roster{Epoch: 1, Timeout: time.Second, Members: []string{Member(0, pod)}}
	many := fine
	many.Members = nil
	for i := range MaxMembers + 1 {
		many.Members = append(many.Members, Member(i, pod))
	}
	for name, value := range map[string]string{
		"no JSON":                   "{",
		"no epoch":                  Roster{Timeout: time.Second}.Format(),
		"a limit below 0":           Roster{Epoch: 1, Limit: -1, Timeout: time.Second}.Format(),
		"no timeout":                Roster{Epoch: 1}.Format(),
		"somebody twice":            Roster{Epoch: 1, Timeout: time.Second, Members: []string{Member(0, pod), Member(0, pod)}}.Format(),
		"no member's name":          Roster{Epoch: 1, Timeout: time.Second, Members: []string{"worker-01." + pod}}.Format(),
		"too many members":          many.Format(),
		"a number that is too high": strings.Replace(fine.Format(), `"epoch":1`, fmt.Sprintf(`"epoch":%d`, coordination.MaxCount+1), 1),
	} {
		if r, err := Of(map[string]string{Annotation: value}); err == nil {
			t.Errorf("%s: read as %+v", name, r)
		}
	}
	if _, err := Of(map[string]string{Annotation: fine.Format()}); err != nil {
		t.Error(err)
	}
}

// The slot of an agent identifies both the worker and its pod, so that messages for one pod never reach another.
func TestNames(t *testing.T) {
	member := Member(12, pod)
	if back := MemberOf(Slot(member)); back != member {
		t.Errorf("%q", back)
	}
	if !Stage(member, 1).Has(Slot(member)) {
		t.Error("the stage does not have its slot")
	}
	index, uid, ok := ParseMember(member)
	if index != 12 || uid != pod || !ok {
		t.Error(index, uid, ok)
	}
	for _, name := range []string{"", "worker-1", "worker-1.", "worker--1." + pod, "worker-+1." + pod, "js-workers-0"} {
		if _, _, ok := ParseMember(name); ok {
			t.Errorf("%q is accepted", name)
		}
	}
}
