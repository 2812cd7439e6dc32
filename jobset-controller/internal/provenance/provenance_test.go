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
		t.Error("annotations of the JobSet itself are reported as a copy")
	}
	if !Copied(stamped, "another") {
		t.Error("annotations of another JobSet are not reported as a copy")
	}
	if Copied(map[string]string{storeUser: "x"}, js.UID) {
		t.Error("annotations without a stamp are reported as a copy")
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
