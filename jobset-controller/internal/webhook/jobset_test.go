package webhook

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const timeout = v1alpha2.InPlaceTimeoutKey

// agents holds the settings of a manager that adds the supervisor.
var agents = inject.Settings{Store: supervise.Store{Address: "valkey:6379"}, ExecImage: "exec"}

// runnable returns a JobSet with workers that the supervisor can run.
func runnable() *JobSet {
	return MakeJobSet("a").Entry("workers", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.Template.Spec.Containers[0].Command = []string{"python"}
	})
}

func TestCreate(t *testing.T) {
	for name, tc := range map[string]struct {
		js   *JobSet
		want string // part of the error; empty if accepted
	}{
		"no annotation":      {js: MakeJobSet("a").Workers(1)},
		"a good timeout":     {js: runnable().Annotation(timeout, "60s")},
		"no unit":            {js: MakeJobSet("a").Workers(1).Annotation(timeout, "60"), want: `Invalid value: "60": "60" is not a duration such as "60s" or "1m30s"`},
		"an empty timeout":   {js: MakeJobSet("a").Workers(1).Annotation(timeout, ""), want: "is empty"},
		"a negative timeout": {js: MakeJobSet("a").Workers(1).Annotation(timeout, "-1s"), want: "below the minimum"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobSets{agents: agents}.ValidateCreate(t.Context(), tc.js.Obj())
			refusal(t, err, tc.want)
		})
	}
}

func TestUpdateRefusesOnlyWhatItChanges(t *testing.T) {
	none, good, bad := MakeJobSet("a").Obj(), MakeJobSet("a").Annotation(timeout, "60s").Obj(), MakeJobSet("a").Annotation(timeout, "60").Obj()
	for name, tc := range map[string]struct {
		old, new *v1alpha2.JobSet
		want     string
	}{
		"an existing bad value":              {old: bad, new: bad},
		"a bad value removed":                {old: bad, new: none},
		"a bad value corrected":              {old: bad, new: good},
		"a bad value added":                  {old: none, new: bad, want: "is not a duration"},
		"an empty value added":               {old: none, new: MakeJobSet("a").Annotation(timeout, "").Obj(), want: "is empty"},
		"a good value replaced by a bad one": {old: good, new: bad, want: "is not a duration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobSets{agents: agents}.ValidateUpdate(t.Context(), tc.old, tc.new)
			refusal(t, err, tc.want)
		})
	}
}

func refusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want == "":
	case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "metadata.annotations["+timeout+"]"):
		t.Errorf("got %v", err)
	}
}
