//go:build envtest

package elasticjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

func withAgents(w *world) {
	w.agents.ExecImage, w.agents.Store, w.agents.StoreACL = "exec:1", supervise.Store{Address: "valkey.holdfast.svc:6379"}, true
}

// inPlace requests in-place restarts.
func inPlace(j *v1alpha1.ElasticJob) {
	metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.InPlaceTimeoutKey, "60s")
	j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Command = []string{"torchrun"}
}

// enlisted waits until the roster contains exactly the pods of these workers.
func (w *world) enlisted(job string, workers ...int) *roster.Roster {
	w.Helper()
	var r *roster.Roster
	w.eventually(func() string {
		var want []string
		for _, i := range workers {
			pod := &corev1.Pod{}
			if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprintf("%s-worker-%d", job, i)}, pod); err != nil {
				return err.Error()
			}
			want = append(want, roster.Member(i, string(pod.UID)))
		}
		var err error
		if r, err = roster.Of(w.get(job).Annotations); err != nil || r == nil {
			return fmt.Sprintf("the roster is %v (%v)", r, err)
		}
		if !slices.Equal(r.Members, want) {
			return fmt.Sprintf("the roster contains %v, want %v", r.Members, want)
		}
		return ""
	})
	return r
}

// report writes a report as the orchestrator would.
func (w *world) report(job string, r roster.Report) {
	w.Helper()
	r.Epoch = 1
	object := w.get(job)
	before := object.DeepCopy()
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, roster.ReportAnnotation, r.Format())
	w.ok(w.Patch(w.Context(), object, client.MergeFrom(before)))
}

// says waits for a condition.
func (w *world) says(job string, kind v1alpha1.JobConditionType, status metav1.ConditionStatus, reason string) {
	w.Helper()
	w.eventually(func() string {
		if c := condition(w.get(job), kind); c.Status != status || c.Reason != reason {
			return fmt.Sprintf("the condition is %+v", c)
		}
		return ""
	})
}

// Workers restart in place, and no pod is replaced until a worker fails to restart.
func TestInPlaceRestarts(t *testing.T) {
	w := newWorld(t, withAgents)
	w.create(MakeElasticJob("a").Workers(1, 2, 3).With(inPlace).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	r := w.enlisted("a", 0, 1)
	if r.Epoch != 1 || r.Limit != 3 || r.Timeout != time.Minute {
		t.Errorf("%+v", r)
	}
	w.says("a", v1alpha1.JobInPlaceInSync, metav1.ConditionFalse, v1alpha1.ReasonWaitingForLeader)
	w.report("a", roster.Report{Phase: coordination.Running, Size: 2})
	w.says("a", v1alpha1.JobInPlaceInSync, metav1.ConditionTrue, v1alpha1.ReasonInSync)

	first, second := w.worker("a", 0).UID, w.worker("a", 1).UID
	failure := roster.Failure{At: 1000, Member: r.Members[1], Kind: coordination.KindExit, Code: 137, Signal: 9}
	w.report("a", roster.Report{
		Phase: coordination.Restarting, Round: 1, Size: 2, Message: "worker 1 failed", Deadline: time.Now().Add(time.Minute), Failures: []roster.Failure{failure},
	})
	w.says("a", v1alpha1.JobRecovering, metav1.ConditionTrue, v1alpha1.ReasonRestartingInPlace)
	w.eventually(func() string {
		if s, found := recovering.Of(w.get("a").Annotations); !found || s.Level != recovering.LevelProcess {
			return fmt.Sprintf("the recovering annotation is %+v", s)
		}
		return ""
	})
	w.heard("Normal InPlaceRestart: Pod: a-worker-1: its worker exited with code 137")
	w.report("a", roster.Report{Phase: coordination.Running, Round: 1, Size: 2, Failures: []roster.Failure{failure}})
	w.says("a", v1alpha1.JobRecovering, metav1.ConditionFalse, v1alpha1.ReasonRestarted)
	w.eventually(func() string {
		if _, found := recovering.Of(w.get("a").Annotations); found {
			return "the recovering annotation is still set"
		}
		return ""
	})
	w.always(func() string {
		if s := w.get("a").Status; s.Restarts != 1 || s.InPlace == nil || s.InPlace.Failures != 1 {
			return fmt.Sprintf("restarts %d, in place %+v", s.Restarts, s.InPlace)
		}
		if w.worker("a", 0).UID != first || w.worker("a", 1).UID != second {
			return "a pod was replaced"
		}
		return ""
	})

	w.report("a", roster.Report{
		Phase: coordination.Restarting, Round: 2, Size: 2, Failures: []roster.Failure{failure}, Lost: []roster.Lost{{Member: r.Members[1], Why: "it hangs"}},
	})
	w.eventually(func() string {
		pod := &corev1.Pod{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "a-worker-1"}, pod); err != nil || pod.UID == second {
			return "its pod has not been replaced"
		}
		return ""
	})
	w.enlisted("a", 0, 1)
	w.heard("Warning InPlaceNotPossible: Pod: a-worker-1 is being replaced: it hangs")
	if w.worker("a", 0).UID != first {
		t.Error("another pod was replaced")
	}
}

// The roster follows the job when it is scaled, suspended and resumed, and when the controller restarts.
func TestRosterIsUpdated(t *testing.T) {
	w := newWorld(t, withAgents)
	w.create(MakeElasticJob("a").Workers(1, 2, 3).With(inPlace).Obj())
	w.enlisted("a", 0, 1)
	w.stop()
	w.start()
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { *s.ReplicaSpecs.Worker.Replicas = 3 })
	w.enlisted("a", 0, 1, 2)
	lost := w.worker("a", 1)
	w.ok(w.Delete(t.Context(), lost))
	w.eventually(func() string {
		pod := &corev1.Pod{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(lost), pod); err != nil || pod.UID == lost.UID {
			return "the pod is not replaced"
		}
		return ""
	})
	w.enlisted("a", 0, 1, 2)
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { *s.ReplicaSpecs.Worker.Replicas = 1 })
	w.enlisted("a", 0)
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = true })
	w.eventually(func() string {
		if r, _ := roster.Of(w.get("a").Annotations); r != nil {
			return fmt.Sprintf("the roster is %+v", r)
		}
		return ""
	})
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = false })
	if r := w.enlisted("a", 0); r.Epoch != 2 {
		t.Errorf("%+v", r)
	}
}

// If in-place restarts are impossible for a job, it runs without them, and a condition gives the reason.
func TestInPlaceRestartsThatAreNotPossible(t *testing.T) {
	for name, tc := range map[string]struct {
		agents func(*world)
		change func(*v1alpha1.ElasticJob)
		says   string
	}{
		"no-command": {withAgents, func(j *v1alpha1.ElasticJob) { j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Command = nil }, "containers[0].command"},
		"no-store":   {func(*world) {}, func(*v1alpha1.ElasticJob) {}, "--inplace-store-address"},
		"no-time":    {withAgents, func(j *v1alpha1.ElasticJob) { j.Annotations[v1alpha1.InPlaceTimeoutKey] = "soon" }, "is not a duration"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.agents)
			w.create(MakeElasticJob("a").Workers(1, 1, 1).With(inPlace).With(tc.change).Obj())
			job := w.reaches("a", v1alpha1.StateRunning, 1)
			c := condition(job, v1alpha1.JobInPlaceInSync)
			if c.Reason != v1alpha1.ReasonNotPossible || !strings.Contains(c.Message, tc.says) {
				t.Errorf("the condition is %+v", c)
			}
			if len(w.worker("a", 0).Spec.InitContainers) > 0 || job.Annotations[roster.Annotation] != "" {
				t.Error("the job has a supervisor or a roster")
			}
		})
	}
}
