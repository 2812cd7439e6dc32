//go:build envtest

package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/replacement"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// staged runs the ordered-start example on an API server, with a manager, an orchestrator and a store. The test
// simulates the Job controller and the agents.
type staged struct {
	*testing.T
	k8s    client.Client
	key    client.ObjectKey
	store  *memory.Store
	leader *orchestrator.Reconciler
}

type firstToken struct{}

func (firstToken) Token(context.Context) (coordination.Token, error) {
	return coordination.Token{LeaseCreated: 1}, nil
}

func newStaged(t *testing.T) *staged {
	cluster, k8s := startCluster(t)
	start(t, cluster, parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		"--inplace-store-address=valkey:6379", "--inplace-exec-image=exec"))
	content, err := os.ReadFile("../../../examples/one-annotation-stages.yaml")
	if err != nil {
		t.Fatal(err)
	}
	js := &v1alpha2.JobSet{}
	if err := yaml.UnmarshalStrict(content, js); err != nil {
		t.Fatal(err)
	}
	js.Namespace = "default"
	if err := k8s.Create(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	s := &staged{T: t, k8s: k8s, key: client.ObjectKeyFromObject(js), store: memory.New(time.Now)}
	groups := orchestrator.NewGroups(clock.RealClock{})
	s.leader = &orchestrator.Reconciler{
		Kind: orchestrator.JobSets, Groups: groups, Metrics: orchestrator.NewMetrics(prometheus.NewRegistry()),
		Client: podIndex{k8s}, Live: k8s, Store: s.store, Tokens: firstToken{}, Recorder: events.NewFakeRecorder(100), Clock: clock.RealClock{},
	}
	return s
}

// podIndex lists a JobSet's pods from the API server, which does not support the cache's index.
type podIndex struct{ client.Client }

func (p podIndex) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	pods, ok := list.(*corev1.PodList)
	if !ok {
		return p.Client.List(ctx, list, opts...)
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if err := p.Client.List(ctx, pods, client.InNamespace(o.Namespace)); err != nil {
		return err
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return !o.FieldSelector.Matches(fields.Set{orchestrator.PodsOfGroup: orchestrator.IndexByGroup(&pod)[0]})
	})
	return nil
}

func (s *staged) jobSet() *v1alpha2.JobSet {
	s.Helper()
	js := &v1alpha2.JobSet{}
	if err := s.k8s.Get(s.Context(), s.key, js); err != nil {
		s.Fatal(err)
	}
	return js
}

// lead runs orchestrator reconciles until the JobSet no longer changes.
func (s *staged) lead() {
	s.Helper()
	for range 5 {
		if _, err := s.leader.Reconcile(s.Context(), ctrl.Request{NamespacedName: s.key}); err != nil {
			s.Fatal(err)
		}
	}
}

// await waits for a Job of the JobSet, and then writes the status of its pods.
func (s *staged) await(rjob string, index int, status func(*batchv1.JobStatus)) {
	s.Helper()
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: s.key.Namespace, Name: fmt.Sprintf("%s-%s-%d", s.key.Name, rjob, index)}
	eventually(s.T, "there is no Job "+key.Name, func() bool { return s.k8s.Get(s.Context(), key, job) == nil })
	job.Status.StartTime = ptr.To(metav1.Now())
	status(&job.Status)
	if err := s.k8s.Status().Update(s.Context(), job); err != nil {
		s.Fatal(err)
	}
}

func completed(status *batchv1.JobStatus) {
	status.Succeeded, status.CompletedIndexes, status.CompletionTime = 1, "0", ptr.To(metav1.Now())
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "CompletionsReached"})
	}
}

func ready(pods int32) func(*batchv1.JobStatus) {
	return func(status *batchv1.JobStatus) { status.Active, status.Ready = pods, &pods }
}

// join creates a pod, as the Job controller does, and joins the group, as the supervisor in the pod would.
func (s *staged) join(rjob string, job, pod int) {
	s.Helper()
	slot := fmt.Sprintf("%s-%s-%d-%d", s.key.Name, rjob, job, pod)
	owner := &batchv1.Job{}
	if err := s.k8s.Get(s.Context(), client.ObjectKey{Namespace: s.key.Namespace, Name: fmt.Sprintf("%s-%s-%d", s.key.Name, rjob, job)}, owner); err != nil {
		s.Fatal(err)
	}
	made := replacement.Pod(owner, pod)
	if err := s.k8s.Create(s.Context(), made); err != nil {
		s.Fatal(err)
	}
	uid := string(s.jobSet().UID)
	group, err := grouptest.Read(s.Context(), s.store, uid)
	if err != nil {
		s.Fatal(err)
	}
	unit, found := group.UnitOf(slot)
	member := rounds.Member{Slot: rounds.Slot{Name: slot, Pod: string(made.UID)}, ID: slot + "/1", Attempt: 1, Past: rounds.Past{Kind: rounds.PastNew}}
	answer, _, err := s.store.Call(s.Context(), uid, rounds.Join(group.Level.Incarnation, unit, group.Round, 0, member))
	if err != nil || !found || answer != string(rounds.AnswerJoined) {
		s.Fatalf("the join of %s returned %q (%v)", slot, answer, err)
	}
}

// is checks how many steps have been entered, and the condition's message.
func (s *staged) is(entered int, message string) {
	s.Helper()
	s.lead()
	group, err := grouptest.Read(s.Context(), s.store, string(s.jobSet().UID))
	if err != nil || group.Level.Entered != entered {
		s.Fatalf("%d steps have been entered (%v), want %d", group.Level.Entered, err, entered)
	}
	c := meta.FindStatusCondition(s.jobSet().Status.Conditions, orchestrator.ConditionInSync)
	if c == nil || c.Message != message {
		s.Errorf("the condition is %+v, want %q", c, message)
	}
}

func TestOrderedStartWithAddedAgents(t *testing.T) {
	s := newStaged(t)
	s.lead()
	s.await("fetch", 0, completed)
	s.is(0, "1 workers, restart count 0 of generation 1")
	s.await("driver", 0, ready(1))
	s.join("driver", 0, 0)
	s.is(1, "all 1 workers have restart count 0 of generation 1; one-annotation-stages-workers has not started yet")
	for job := range 2 {
		s.await("workers", job, ready(4))
		for pod := range 4 {
			s.join("workers", job, pod)
		}
	}
	s.is(2, "all 9 workers have restart count 0 of generation 1")
}
