package jobset

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/notes"
)

// recordedNotes records the notes of events.
type recordedNotes []string

func (n *recordedNotes) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf("%s %s %s: %s", regarding.(*v1alpha2.JobSet).Name, kind, reason, fmt.Sprintf(note, args...)))
}

func TestWarnOnce(t *testing.T) {
	var sent recordedNotes
	r := New(Options{Recorder: &sent})
	a, b := MakeJobSet("a").Obj(), MakeJobSet("b").Obj()
	for range 2 {
		r.warnOnce(a, "R", "x is wrong")
		r.warnOnce(a, "R", "y is wrong")
		r.warnOnce(a, "S", "x is odd")
		r.warnOnce(b, "R", "x is wrong")
	}
	want := recordedNotes{"a Warning R: x is wrong", "a Warning R: y is wrong", "a Warning S: x is odd", "b Warning R: x is wrong"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

func TestMessageIsNotFormatted(t *testing.T) {
	var sent recordedNotes
	New(Options{Recorder: &sent}).warn(MakeJobSet("a").Obj(), "R", "100%d of it")
	if diff := cmp.Diff(recordedNotes{"a Warning R: 100%d of it"}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestLongMessageIsCutBetweenCharacters(t *testing.T) {
	var sent recordedNotes
	New(Options{Recorder: &sent}).warn(MakeJobSet("a").Obj(), "R", strings.Repeat("é", notes.MaxLength))
	note := strings.TrimPrefix(sent[0], "a Warning R: ")
	if len(note) != notes.MaxLength || !utf8.ValidString(note) {
		t.Errorf("%d bytes, valid: %v", len(note), utf8.ValidString(note))
	}
	sent = nil
	New(Options{Recorder: &sent}).warn(MakeJobSet("a").Obj(), "R", "x"+strings.Repeat("é", notes.MaxLength))
	if note = strings.TrimPrefix(sent[0], "a Warning R: "); len(note) != notes.MaxLength-1 || !utf8.ValidString(note) {
		t.Errorf("%d bytes, valid: %v", len(note), utf8.ValidString(note))
	}
}
