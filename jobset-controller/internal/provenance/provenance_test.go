package provenance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestStoreUserIsThatOfTheOrchestrator(t *testing.T) {
	if storeUser != credentials.Annotation {
		t.Errorf("the orchestrator writes %s", credentials.Annotation)
	}
}

func TestCopied(t *testing.T) {
	js := MakeJobSet("a").Obj()
	stamped := map[string]string{}
	Stamp(js, stamped)
	if Copied(stamped, js.UID) {
		t.Error("what was written for the JobSet itself is a copy")
	}
	if !Copied(stamped, "another") {
		t.Error("what was written for another JobSet is not a copy")
	}
	if Copied(map[string]string{storeUser: "x"}, js.UID) {
		t.Error("what is older than stamps is a copy")
	}
	Stamp(&metav1.PartialObjectMetadata{}, stamped) // an owner of another kind
	if diff := cmp.Diff(map[string]string{"holdfast.dev/written-for": "a-uid"}, stamped); diff != "" {
		t.Error(diff)
	}
}

func TestRestore(t *testing.T) {
	now := map[string]string{"mine": "1", "holdfast.dev/epoch": "copied", storeUser: "copied"}
	Restore(now, map[string]string{"mine": "0", "holdfast.dev/epoch": "current"})
	if diff := cmp.Diff(map[string]string{"mine": "1", "holdfast.dev/epoch": "current"}, now); diff != "" {
		t.Error(diff)
	}
}
