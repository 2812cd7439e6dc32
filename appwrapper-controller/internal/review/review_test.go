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
		"as it was stamped": {func(*v1beta2.AppWrapper) {}, true},
		"keys in another order": {func(aw *v1beta2.AppWrapper) {
			aw.Spec.Components[0].Template.Raw = []byte(`{"kind":"Pod","apiVersion":"v1"}`)
		}, true},
		"suspended, and labelled":  {func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend, aw.Labels = true, map[string]string{"a": "b"} }, true},
		"never stamped":            {func(aw *v1beta2.AppWrapper) { aw.Annotations = nil }, false},
		"stamped with another key": {func(aw *v1beta2.AppWrapper) { _ = reviews(t, "theirs").Stamp(aw, noon) }, false},
		"another template": {func(aw *v1beta2.AppWrapper) {
			aw.Spec.Components[0].Template.Raw = []byte(`{"apiVersion":"v1","kind":"Secret"}`)
		}, false},
		"one template more":         {func(aw *v1beta2.AppWrapper) { aw.Spec.Components = append(aw.Spec.Components, aw.Spec.Components[0]) }, false},
		"another namespace":         {func(aw *v1beta2.AppWrapper) { aw.Namespace = "other" }, false},
		"copied to a later one":     {func(aw *v1beta2.AppWrapper) { aw.CreationTimestamp = metav1.NewTime(noon.Add(time.Hour)) }, false},
		"with another time":         {func(aw *v1beta2.AppWrapper) { aw.Annotations[Annotation] = "1" + aw.Annotations[Annotation] }, false},
		"what is not a stamp":       {func(aw *v1beta2.AppWrapper) { aw.Annotations[Annotation] = "true" }, false},
		"clocks that are not equal": {func(aw *v1beta2.AppWrapper) { aw.CreationTimestamp = metav1.NewTime(noon.Add(-time.Minute)) }, true},
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
		t.Error("it is stamped")
	}
	aw.Annotations = map[string]string{Annotation: "1.x"}
	if err := With(t.TempDir()).Verify(aw); err == nil {
		t.Error("it is verified")
	}
}
