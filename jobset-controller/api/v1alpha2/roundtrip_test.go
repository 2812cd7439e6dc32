package v1alpha2_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// The types must have every field that the examples use: the test fails if a field is missing, is misspelled or has a
// different type.
func TestExamplesRoundTrip(t *testing.T) {
	for _, file := range examples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var js v1alpha2.JobSet
			if err := yaml.UnmarshalStrict(text, &js); err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutEmpty(want), withoutEmpty(encoded(t, &js))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	return files
}

func encoded(t *testing.T, js *v1alpha2.JobSet) any {
	t.Helper()
	text, err := json.Marshal(js)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// withoutEmpty drops nulls, empty objects and zeros, which Go's types may add or omit.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			if inner = withoutEmpty(inner); inner != nil {
				out[key] = inner
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutEmpty(v[i])
		}
		return out
	case float64:
		if v == 0 {
			return nil
		}
	}
	return value
}

func TestRestartsAreAlwaysSerialized(t *testing.T) {
	text, err := json.Marshal(v1alpha2.JobSetStatus{})
	if err != nil || string(text) != `{"restarts":0}` {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestSchemeHasTheKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"JobSet", "JobSetList"} {
		if !scheme.Recognizes(v1alpha2.GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}
