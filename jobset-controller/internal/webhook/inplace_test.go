package webhook

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

const command = "spec.replicatedJobs[0].template.spec.template.spec.containers[0].command"

func TestJobSetThatCannotHaveAnAgentIsRejected(t *testing.T) {
	noCommand := func() *JobSet { return MakeJobSet("a").Workers(1) }
	for name, tc := range map[string]struct {
		js     *JobSet
		agents inject.Settings
		want   string // part of the error; empty if accepted
		warned string
	}{
		"workers without a command":          {js: noCommand().Annotation(timeout, "60s"), agents: agents, want: command},
		"the same without in-place restarts": {js: noCommand(), agents: agents},
		"the same with an invalid timeout":   {js: noCommand().Annotation(timeout, "60"), agents: agents, want: "is not a duration"},
		"a node that is lost too early":      {js: runnable().Annotation(timeout, "60s").Annotation(v1alpha2.NodeLostAfterKey, "1s"), agents: agents, want: "below the minimum"},
		"no time to form":                    {js: runnable().Annotation(timeout, "60s").Annotation(v1alpha2.FormingTimeoutKey, "0s"), agents: agents, want: "below the minimum of 1s"},
		"a negative delay":                   {js: runnable().Annotation(timeout, "60s").Annotation(v1alpha2.MaxRestartDelayKey, "-1s"), agents: agents, want: "below the minimum of 0s"},
		"the same where no agents are added": {js: noCommand().Annotation(timeout, "60s"), warned: "--inplace-store-address"},
		"the sidecar where there is no image": {
			js: noCommand().Annotation(timeout, "60s").Annotation(v1alpha2.InPlaceDriverKey, "cri"), agents: agents, warned: "--inplace-agent-image"},
		"a liveness probe": {
			js: runnable().Annotation(timeout, "60s").Change(probed), agents: agents, warned: "livenessProbe"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := jobSets{agents: tc.agents}.ValidateCreate(t.Context(), tc.js.Obj())
			if got := text(err); !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("refused because of %q, want %q", got, tc.want)
			}
			warnedOf(t, warnings, tc.warned)
		})
	}
}

func TestUpdateThatMakesAnAgentImpossibleIsRejected(t *testing.T) {
	plain, asking := MakeJobSet("a").Workers(1), MakeJobSet("a").Workers(1).Annotation(timeout, "60s")
	spares := func() *JobSet { return runnable().Annotation(timeout, "60s").Annotation(v1alpha2.SparesKey, "1") }
	queued := func(js *v1alpha2.JobSet) { js.Labels = map[string]string{v1alpha2.QueueNameLabel: "q"} }
	admitted := func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Labels = map[string]string{v1alpha2.PodSetLabel: "workers"}
	}
	for name, tc := range map[string]struct {
		old, new *JobSet
		want     string
	}{
		"a JobSet with spares gets a queue": {spares(), spares().Change(queued), "metadata.annotations[holdfast.dev/spares]: Forbidden: Kueue"},
		"Kueue admits it without a queue":   {spares().Suspend(true), spares().Change(admitted), "metadata.annotations[holdfast.dev/spares]: Forbidden: Kueue"},
		"the annotation is added":           {plain, asking, command},
		"the problem existed before":        {asking, MakeJobSet("a").Workers(1).Annotation(timeout, "90s").Suspend(true), ""},
		"the annotation is removed":         {asking, plain, ""},
		"another problem is added":          {asking, MakeJobSet("a").Workers(1).Annotation(timeout, "60s").Entry("b", 1), "spec.replicatedJobs[1]"},
		"the named container is removed":    {runnable().Annotation(timeout, "60s"), runnable().Annotation(timeout, "60s").Change(twoContainers), "inplace-container"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobSets{agents: agents}.ValidateUpdate(t.Context(), tc.old.Obj(), tc.new.Obj())
			if got := text(err); !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("refused because of %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSparesThatCannotTakeOverAreRejected(t *testing.T) {
	all := agents
	all.AgentImage = "agent"
	spares := func(n string) *JobSet { return runnable().Annotation(timeout, "60s").Annotation(v1alpha2.SparesKey, n) }
	const path = "metadata.annotations[holdfast.dev/spares]: "
	for name, tc := range map[string]struct {
		js   *JobSet
		want string
	}{
		"negative":                 {spares("-1"), path + "Invalid value"},
		"no number":                {spares("two"), path + "Invalid value"},
		"too many":                 {spares("101"), path + "Invalid value"},
		"the cri driver":           {spares("1").Annotation(v1alpha2.InPlaceDriverKey, "cri"), path + "Forbidden: spares wait at the barrier"},
		"exclusive placement":      {spares("1").Annotation(v1alpha2.ExclusiveKey, "rack"), path + "Forbidden: a spare has no place"},
		"success of any":           {spares("1").Success(v1alpha2.OperatorAny), path + "Forbidden: a worker that finishes in a spare"},
		"without in-place restart": {runnable().Annotation(v1alpha2.SparesKey, "1"), path + "Forbidden: spares need in-place restarts"},
		"on a Job template": {runnable().Annotation(timeout, "60s").Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Annotations = map[string]string{v1alpha2.SparesKey: "many"}
		}), "spec.replicatedJobs[0].template." + path + "Invalid value"},
		"as many as possible": {spares("100"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := jobSets{agents: all}.ValidateCreate(t.Context(), tc.js.Obj())
			if got := text(err); !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("refused because of %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWarningIsGivenOnce(t *testing.T) {
	js := runnable().Annotation(timeout, "60s").Change(probed).Obj()
	warnings, err := jobSets{agents: agents}.ValidateUpdate(t.Context(), js, js)
	if err != nil || len(warnings) > 0 {
		t.Errorf("got %q (%v)", warnings, err)
	}
	warnings, err = jobSets{agents: agents}.ValidateUpdate(t.Context(), runnable().Change(probed).Obj(), js)
	if err != nil {
		t.Error(err)
	}
	warnedOf(t, warnings, "livenessProbe")
}

func probed(js *v1alpha2.JobSet) {
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].LivenessProbe = &corev1.Probe{}
}

func twoContainers(js *v1alpha2.JobSet) {
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "logs"})
}

func text(err error) string {
	if apierrors.IsInvalid(err) {
		return err.Error()
	}
	return ""
}

func warnedOf(t *testing.T, warnings admission.Warnings, want string) {
	t.Helper()
	about := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, want) })
	if (want == "") != (len(warnings) == 0) || (want != "" && !about) {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}
