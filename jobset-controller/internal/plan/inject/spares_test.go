package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

func TestSpares(t *testing.T) {
	cri := on(v1alpha2.InPlaceDriverKey, "cri")
	none := on(v1alpha2.InPlaceDriverKey, "none")
	byHand := func(e *rjob) {
		e.Template.Spec.Template.Spec.Containers[0].Command = []string{"holdfast-exec", "--", "x"}
	}
	spares := func(js *JobSet, n string) *JobSet { return js.Annotation(v1alpha2.SparesKey, n) }
	owned := spares(plain(), "1")
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "TrainJob", Controller: ptr.To(true)}}
	queued := spares(plain(), "1").Annotation(v1alpha2.StageQueueKey, "q") // the stage queue has no effect in this case
	queued.Labels = map[string]string{v1alpha2.QueueNameLabel: "q"}
	admitted := func(e *rjob) { e.Template.Spec.Template.Labels = map[string]string{v1alpha2.PodSetLabel: "w"} }
	jobQueued := func(e *rjob) { e.Template.Labels = map[string]string{v1alpha2.QueueNameLabel: "q"} }
	mounts := func(path string) func(e *rjob) {
		return func(e *rjob) {
			c := &e.Template.Spec.Template.Spec.Containers[0]
			c.Env = []corev1.EnvVar{
				supervise.FromField("RANK", "metadata.labels['"+v1alpha2.JobGlobalIndexKey+"']"), {Name: "FOLDER", Value: "rank-$(RANK)"},
				supervise.FromField("POD", "metadata.name"),
			}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data", SubPathExpr: path}}
		}
	}
	const (
		onJobSet   = "metadata.annotations[holdfast.dev/spares]: "
		onTemplate = "spec.replicatedJobs[0].template.metadata.annotations[holdfast.dev/spares]: "
	)
	for name, c := range map[string]struct {
		js    *JobSet
		want  int
		wrong string
	}{
		"none":                              {plain(), 0, ""},
		"some":                              {spares(plain(), "2"), 2, ""},
		"the template takes precedence":     {spares(plain(on(v1alpha2.SparesKey, "3")), "2"), 3, ""},
		"the template turns them off":       {spares(plain(on(v1alpha2.SparesKey, "0")), "2"), 0, ""},
		"as many as possible":               {spares(plain(), "100"), 100, ""},
		"too many":                          {spares(plain(), "101"), 0, onJobSet + `Invalid value: "101": it must be a number from 0 to 100`},
		"negative":                          {spares(plain(), "-1"), 0, onJobSet},
		"no number":                         {plain(on(v1alpha2.SparesKey, "two")), 0, onTemplate},
		"a fraction":                        {spares(plain(), "1.5"), 0, onJobSet},
		"more than an integer can hold":     {plain(on(v1alpha2.SparesKey, "99999999999999999999")), 0, onTemplate},
		"empty":                             {spares(plain(), ""), 0, onJobSet},
		"with the cri driver":               {spares(plain(cri), "1"), 0, onJobSet + "Forbidden: spares wait at the barrier"},
		"beside the cri driver":             {spares(plain().Entry("other", 1, cri), "1"), 0, onJobSet + "Forbidden: spares wait at the barrier"},
		"of pods without agents":            {plain(none, on(v1alpha2.SparesKey, "1")), 0, onTemplate + "Forbidden: spares need the exec driver"},
		"for the JobSet, one without agent": {spares(plain(none).Entry("other", 1, none), "1"), 0, ""},
		"with an agent by hand":             {spares(plain(byHand), "1"), 0, onJobSet + "Forbidden: spares need agents that the manager adds"},
		"in a queue":                        {queued, 0, onJobSet + "Forbidden: Kueue does not count spares"},
		"admitted without a queue":          {spares(plain(admitted), "1"), 0, onJobSet + "Forbidden: Kueue does not count spares"},
		"with a queue on the Job template":  {spares(plain(jobQueued), "1"), 0, onJobSet + "Forbidden: Kueue and the manager would both"},
		"with queues for the stages":        {spares(plain(), "1").Annotation(v1alpha2.StageQueueKey, "q"), 1, ""},
		"of another owner":                  {owned, 0, onJobSet + "Forbidden: the quota of the TrainJob"},
		"with exclusive placement":          {spares(plain(on(v1alpha2.ExclusiveKey, "rack")), "1"), 0, onJobSet + "Forbidden: a spare has no place"},
		"with exclusive Jobs of the JobSet": {spares(plain().Annotation(v1alpha2.ExclusiveKey, "rack"), "1"), 0, onJobSet + "Forbidden: a spare has no place"},
		"with success policy Any":           {spares(plain().Success(v1alpha2.OperatorAny), "1"), 0, onJobSet + "Forbidden: a worker that finishes in a spare"},
		"with a long name":                  {spares(plain(func(e *rjob) { e.Name = strings.Repeat("w", 45) }), "1"), 0, onJobSet + "Forbidden: the names of the JobSet"},
		"with an unknown container": {
			spares(plain(on(v1alpha2.InPlaceContainerKey, "none"), func(e *rjob) {
				c := &e.Template.Spec.Template.Spec
				c.Containers = append(c.Containers, corev1.Container{Name: "other"})
			}), "1"), 0, "spec.replicatedJobs[0].template.metadata.annotations[holdfast.dev/inplace-container]: Invalid value",
		},
		"with a folder by index": {spares(plain(mounts("rank-$(JOB_COMPLETION_INDEX)")), "1"), 0, onJobSet + "Forbidden: the subPathExpr of a mount"},
		"with a folder by label": {spares(plain(mounts("$(FOLDER)")), "1"), 0, onJobSet + "Forbidden: the subPathExpr of a mount"},
		"with a folder by pod":   {spares(plain(mounts("$(POD)/$(OTHER)")), "1"), 1, ""},
		"a template with a slot": {plain(func(e *rjob) {
			e.Template.Spec.Template.Annotations = map[string]string{v1alpha2.SlotKey: "js-workers-0-1"}
		}), 0, "spec.replicatedJobs[0].template.spec.template.metadata.annotations[holdfast.dev/slot]: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			a := Assess(c.js.Obj())
			if c.wrong == "" {
				if len(a.Problems) > 0 || a.Entries[0].Spares != c.want {
					t.Errorf("%d spares, problems %v", a.Entries[0].Spares, a.Problems)
				}
				return
			}
			if len(a.Problems) != 1 || !strings.HasPrefix(a.Problems[0].Error(), c.wrong) {
				t.Errorf("problems %v, want one that begins with %q", a.Problems, c.wrong)
			}
		})
	}
}

func TestEachReplicatedJobHasItsOwnSpares(t *testing.T) {
	runs := func(e *rjob) { e.Template.Spec.Template.Spec.Containers[0].Command = []string{"python"} }
	js := plain().Entry("more", 1, runs, on(v1alpha2.SparesKey, "5")).Entry("same", 1, runs).Annotation(v1alpha2.SparesKey, "2").Obj()
	a := Assess(js)
	if len(a.Problems) > 0 {
		t.Fatal(a.Problems)
	}
	for i, want := range []int{2, 5, 2} {
		if got := a.Entries[i].Spares; got != want {
			t.Errorf("%s has %d spares, want %d", js.Spec.ReplicatedJobs[i].Name, got, want)
		}
	}
}
