package review

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func reviews(t *testing.T, key string) *Reviews {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tls.key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	return With(folder)
}

// Only the webhook can sign an AppWrapper, and only for these templates, this namespace and this time.
func TestSignatureCannotBeForged(t *testing.T) {
	ours := reviews(t, "ours")
	for name, tc := range map[string]struct {
		change func(*v1beta2.AppWrapper)
		ok     bool
	}{
		"unchanged": {func(*v1beta2.AppWrapper) {}, true},
		"keys in a different order": {func(aw *v1beta2.AppWrapper) {
			aw.Spec.Components[0].Template.Raw = []byte(`{"kind":"Pod","apiVersion":"v1"}`)
		}, true},
		"suspended and labeled":    {func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend, aw.Labels = true, map[string]string{"a": "b"} }, true},
		"never stamped":            {func(aw *v1beta2.AppWrapper) { aw.Annotations = nil }, false},
		"stamped with another key": {func(aw *v1beta2.AppWrapper) { _ = reviews(t, "theirs").Stamp(aw, noon) }, false},
		"a different template": {func(aw *v1beta2.AppWrapper) {
			aw.Spec.Components[0].Template.Raw = []byte(`{"apiVersion":"v1","kind":"Secret"}`)
		}, false},
		"an additional template":       {func(aw *v1beta2.AppWrapper) { aw.Spec.Components = append(aw.Spec.Components, aw.Spec.Components[0]) }, false},
		"a different namespace":        {func(aw *v1beta2.AppWrapper) { aw.Namespace = "other" }, false},
		"copied to a later AppWrapper": {func(aw *v1beta2.AppWrapper) { aw.CreationTimestamp = metav1.NewTime(noon.Add(time.Hour)) }, false},
		"with a different time":        {func(aw *v1beta2.AppWrapper) { aw.Annotations[Annotation] = "1" + aw.Annotations[Annotation] }, false},
		"not a stamp":                  {func(aw *v1beta2.AppWrapper) { aw.Annotations[Annotation] = "true" }, false},
		"clock skew":                   {func(aw *v1beta2.AppWrapper) { aw.CreationTimestamp = metav1.NewTime(noon.Add(-time.Minute)) }, true},
	} {
		aw := MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod}`).Obj()
		aw.CreationTimestamp = metav1.NewTime(noon)
		if err := ours.Stamp(aw, noon); err != nil {
			t.Fatal(err)
		}
		tc.change(aw)
		if err := ours.Verify(aw); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyFailsWithoutAKey(t *testing.T) {
	aw := MakeAppWrapper("a").Pod("p").Obj()
	if err := With(t.TempDir()).Stamp(aw, noon); err == nil {
		t.Error("stamped without a key")
	}
	aw.Annotations = map[string]string{Annotation: "1.x"}
	if err := With(t.TempDir()).Verify(aw); err == nil {
		t.Error("verified without a key")
	}
}
