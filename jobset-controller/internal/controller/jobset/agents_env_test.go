//go:build envtest

package jobset

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var agentsToAdd = inject.Settings{
	Store: supervise.Store{Address: "valkey.holdfast.svc:6379", Secret: "store", SecretKey: "password"}, ExecImage: "exec-image", AgentImage: "agent-image",
}

func runnable(name string) func(*v1alpha2.ReplicatedJob) {
	return func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.Template.Spec.Containers[0].Command = []string{name}
	}
}

// withAgents returns the names of the Jobs whose pods have an agent.
func (w *world) withAgents() string {
	w.Helper()
	var names []string
	for _, job := range w.jobs() {
		if inplace.HasAgent(&job.Spec.Template.Spec) {
			names = append(names, job.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestAnnotationGivesEachPodAnAgent(t *testing.T) {
	for _, driver := range []string{"exec", "cri"} {
		t.Run(driver, func(t *testing.T) {
			w := newWorldThatAdds(t, agentsToAdd)
			w.create(MakeJobSet("a").Entry("workers", 2, runnable("train")).Entry("driver", 1, runnable("drive"),
				DependsOn("workers", v1alpha2.DependencyReady)).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.InPlaceDriverKey, driver))
			w.awaitJobs("a-workers-0@0", "a-workers-1@0")
			w.ready("a-workers-0")
			w.ready("a-workers-1")
			w.awaitJobs("a-driver-0@0", "a-workers-0@0", "a-workers-1@0")
			if got := w.withAgents(); got != "a-driver-0 a-workers-0 a-workers-1" {
				t.Errorf("agents in %q", got)
			}
			for _, job := range w.jobs() {
				if *job.Spec.BackoffLimit != math.MaxInt32 || job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
					t.Errorf("restarts would make job %s fail", job.Name)
				}
			}
			for _, event := range w.Events() {
				if strings.Contains(event, "InPlace") {
					t.Error(event)
				}
			}
		})
	}
}

// A restricted namespace must accept the pods that the Job controller would create.
func TestSupervisorIsAllowedInARestrictedNamespace(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	var namespace corev1.Namespace
	w.OK(w.Get(t.Context(), client.ObjectKey{Name: w.Namespace}, &namespace))
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	w.OK(w.Update(t.Context(), &namespace))
	w.create(MakeJobSet("a").Entry("workers", 1, runnable("train"), restrictedWorker).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.OK(w.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: w.Namespace}}))
	template := w.job("a-workers-0").Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = "a-workers-0-0", w.Namespace
	w.OK(w.Create(t.Context(), pod))
}

func restrictedWorker(e *v1alpha2.ReplicatedJob) {
	e.Template.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func TestJobSetThatCannotHaveAgentsRunsWithoutThem(t *testing.T) {
	cases := map[string]struct {
		agents inject.Settings
		change func(*v1alpha2.ReplicatedJob)
		want   string
	}{
		"no command": {agentsToAdd, func(*v1alpha2.ReplicatedJob) {},
			"Warning InvalidSpec/Reconciling: spec.replicatedJobs[0].template.spec.template.spec.containers[0].command: Required value"},
		"no store": {inject.Settings{}, runnable("train"),
			"Warning InPlaceNotConfigured/Reconciling: no agent is added to the pods, because the manager runs without --inplace-store-address; the jobs run without in-place restarts"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorldThatAdds(t, c.agents)
			w.create(MakeJobSet("a").Entry("workers", 1, c.change).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
			w.awaitJobs("a-workers-0@0")
			w.ready("a-workers-0")
			w.Always(func() string {
				events := w.Events()
				if len(events) != 1 || !strings.HasPrefix(events[0], c.want) {
					return "events: " + strings.Join(events, "\n")
				}
				return sandbox.Differs("agents in", "", w.withAgents())
			})
		})
	}
}

func TestAnnotationOnARunningJobSetTakesEffectOnRecreation(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(MakeJobSet("a").Entry("workers", 2, runnable("train")).MaxRestarts(3))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.annotate("a", v1alpha2.InPlaceTimeoutKey, "60s")

	// A Job that is recreated individually has the same agents as the other Jobs of its attempt.
	w.deleteJob("a-workers-1")
	w.Eventually(func() string { return sandbox.Differs("deleted", "true", deleted(w.jobNames())) })
	w.collect("a-workers-1")
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.Always(func() string { return sandbox.Differs("agents in", "", w.withAgents()) })

	w.fail("a-workers-0")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0", "a-workers-1")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
	if got := w.withAgents(); got != "a-workers-0 a-workers-1" {
		t.Errorf("agents in %q", got)
	}
}

func deleted(names string) string {
	if strings.Contains(names, "-workers-1@0-") {
		return "true"
	}
	return names
}

func (w *world) deleteJob(name string) {
	w.Helper()
	w.OK(w.Delete(w.Context(), w.job(name), client.PropagationPolicy(metav1.DeletePropagationForeground)))
}

func TestJobWithAnAgentIsSuspendedAndResumed(t *testing.T) {
	w := newWorldThatAdds(t, agentsToAdd)
	w.create(MakeJobSet("a").Entry("workers", 1, runnable("train")).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Suspend(true))
	w.awaitSuspendedJobs("a-workers-0")
	before := w.job("a-workers-0").Spec.Template.Spec.Containers
	w.change("a", func(js *v1alpha2.JobSet) {
		js.Spec.Suspend = ptr.To(false)
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{"flavor": "spot"}
	})
	w.awaitSuspendedJobs("")
	w.resumedWith(before)
	w.ready("a-workers-0")
	w.suspend("a", true)
	w.awaitSuspendedJobs("a-workers-0")
	w.stopPods("a-workers-0")
	w.suspend("a", false)
	w.Eventually(func() string { return sandbox.Differs("suspended jobs", "", w.suspendedJobs()) })
	w.resumedWith(before)
	if got := w.eventsWith("JobUpdateFailed"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func (w *world) resumedWith(containers []corev1.Container) {
	w.Helper()
	job := w.job("a-workers-0")
	if diff := cmp.Diff(containers, job.Spec.Template.Spec.Containers); diff != "" || job.Spec.Template.Spec.NodeSelector["flavor"] != "spot" {
		w.Errorf("node selector %v, containers: %s", job.Spec.Template.Spec.NodeSelector, diff)
	}
}
