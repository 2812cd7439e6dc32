package ladder

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/shared/grace"
)

var opened = time.Unix(10_000, 0)

const (
	early  = 10 * time.Second // of a round of 60 s
	middle = 25 * time.Second
	late   = 45 * time.Second
)

// at is a round of 60 s in a group of 8 slots.
func at(elapsed time.Duration) Round {
	return Round{Opened: opened, Clock: grace.Deadline{Start: opened, Period: time.Minute}, Now: opened.Add(elapsed), Size: 8, Missing: 1}
}

func older() metav1.Time   { return metav1.NewTime(opened.Add(-time.Hour)) }
func younger() metav1.Time { return metav1.NewTime(opened.Add(time.Second)) }

func job(pods int32, change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "js-w-0", CreationTimestamp: older()},
		Spec:       batchv1.JobSpec{Parallelism: ptr.To(pods)},
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func pod(phase corev1.PodPhase, states ...corev1.ContainerState) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: older()}, Status: corev1.PodStatus{Phase: phase}}
	for _, s := range states {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: s})
	}
	return p
}

func changed(p *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod { change(p); return p }

func created(t metav1.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = t }
}

func deleting(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(older()) }

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ended(ago, elapsed time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 143, FinishedAt: metav1.NewTime(opened.Add(elapsed - ago)),
	}}
}

var runs = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}

// backedOff waits with a back-off since the container's exit.
func backedOff(message string, exit time.Duration) *corev1.Pod {
	p := pod(corev1.PodRunning, waiting("CrashLoopBackOff", message))
	p.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(opened.Add(exit))},
	}
	return p
}

func TestDecide(t *testing.T) {
	pullFails := func() *corev1.Pod { return pod(corev1.PodPending, waiting("ImagePullBackOff", "")) }
	creating := func() *corev1.Pod { return pod(corev1.PodPending, waiting("ContainerCreating", "")) }
	failedOften := func(j *batchv1.Job) { j.Status.Failed = 3 }
	cases := map[string]struct {
		elapsed time.Duration
		slot    Slot
		want    Rung
		why     string
	}{
		"early, a stuck pod is left its time":         {early, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"a stuck pod is deleted":                      {middle, Slot{Job: job(4), Pod: pullFails()}, Pod, "ImagePullBackOff"},
		"a stuck pod beside a running container too":  {middle, Slot{Job: job(4), Pod: pod(corev1.PodRunning, runs, waiting("CreateContainerError", ""))}, Pod, "CreateContainerError"},
		"a pod of this round is not deleted again":    {middle, Slot{Job: job(4), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"a pod of the round's own second is not old":  {middle, Slot{Job: job(4), Pod: changed(pullFails(), created(metav1.NewTime(opened)))}, None, ""},
		"a pod that is being deleted is left alone":   {middle, Slot{Job: job(4), Pod: changed(pullFails(), deleting)}, None, ""},
		"a running worker is left alone at first":     {middle, Slot{Job: job(4), Pod: pod(corev1.PodRunning, runs)}, None, ""},
		"a worker that is being created comes back":   {middle, Slot{Job: job(4), Pod: creating()}, None, ""},
		"a pod without a node is not helped":          {middle, Slot{Job: job(4), Pod: pod(corev1.PodPending)}, None, ""},
		"a worker that has just exited comes back":    {middle, Slot{Job: job(4), Pod: pod(corev1.PodRunning, ended(time.Second, middle))}, None, ""},
		"a worker that stays exited does not":         {middle, Slot{Job: job(4), Pod: pod(corev1.PodRunning, ended(20*time.Second, middle))}, Pod, "code 143"},
		"a back-off that ends in time comes back":     {middle, Slot{Job: job(4), Pod: backedOff("back-off 20s restarting failed container=worker", 20*time.Second)}, None, ""},
		"a back-off that ends too late does not":      {middle, Slot{Job: job(4), Pod: backedOff("back-off 1m20s restarting failed container=worker", 20*time.Second)}, Pod, "CrashLoopBackOff for 1m20s"},
		"its jitter counts":                           {middle, Slot{Job: job(4), Pod: backedOff("back-off 30s restarting failed container=worker", 20*time.Second)}, Pod, "30s"},
		"a back-off of unknown length is the longest": {middle, Slot{Job: job(4), Pod: backedOff("", 0)}, Pod, "5m0s"},
		"without a pod the Job makes one":             {middle, Slot{Job: job(4)}, None, ""},

		"late, a small Job is recreated for a running worker that does not join": {late, Slot{Job: job(4), Pod: pod(corev1.PodRunning, runs)}, Job, "has not joined"},
		"late, a small Job is recreated for a stuck pod of this round":           {late, Slot{Job: job(4), Pod: changed(pullFails(), created(younger()))}, Job, "ImagePullBackOff"},
		"late, a small Job is recreated for an old pod that never starts":        {late, Slot{Job: job(4), Pod: creating()}, Job, "started"},
		"late, a new pod that is being started is left alone":                    {late, Slot{Job: job(4), Pod: changed(creating(), created(younger()))}, None, ""},
		"late, a back-off that ends in time still comes back":                    {late, Slot{Job: job(4), Pod: backedOff("back-off 5s restarting failed container=worker", 44*time.Second)}, None, ""},
		"late, a Job that is the whole group is left to the end":                 {late, Slot{Job: job(8), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"late, in a large Job the pod alone, though its worker runs":             {late, Slot{Job: job(17), Pod: pod(corev1.PodRunning, runs)}, Pod, "has not joined"},
		"late, in a large Job a pod of this round is left to the end":            {late, Slot{Job: job(17), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"late, a pod that comes in time is waited for":                           {late, Slot{Job: job(4)}, None, ""},
		"late, a Job whose back-off is too long is recreated, however large":     {late, Slot{Job: job(500, failedOften)}, Job, "has no pod, and its Job makes a new one too late"},
		"late, the same after a failed pod":                                      {late, Slot{Job: job(500, failedOften), Pod: pod(corev1.PodFailed)}, Job, "failed"},
		"late, a Job of this round is not recreated again":                       {late, Slot{Job: job(4, func(j *batchv1.Job) { j.CreationTimestamp = younger() }), Pod: pullFails()}, None, ""},
		"late, a Job that is being deleted is left alone":                        {late, Slot{Job: job(4, func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(younger()) }), Pod: pullFails()}, None, ""},
		"late, without a Job there is nothing to delete":                         {late, Slot{Pod: pullFails()}, None, ""},

		"with most of the group missing, no pod is deleted":               {middle, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"with most of the group missing, late, no Job either":             {late, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"with most of the group missing, a Job that is done is recreated": {middle, Slot{Job: job(4), Completed: true}, Job, "exited 0"},
		"a pod that has succeeded needs a new Job at once":                {0, Slot{Job: job(8), Pod: pod(corev1.PodSucceeded, ended(0, 0))}, Job, "exited 0"},
		"so does a slot that its Job counts as completed":                 {0, Slot{Job: job(8), Completed: true}, Job, "exited 0"},
		"but not if it runs all the same":                                 {0, Slot{Job: job(8), Completed: true, Pod: pod(corev1.PodRunning, runs)}, None, ""},
		"nor twice in a round":                                            {early, Slot{Job: job(8, func(j *batchv1.Job) { j.CreationTimestamp = younger() }), Completed: true}, None, ""},
		"a failed pod is replaced by its Job":                             {middle, Slot{Job: job(4), Pod: pod(corev1.PodFailed)}, None, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := at(tc.elapsed)
			if strings.Contains(name, "most of the group") {
				r.Missing = 5
			}
			if strings.Contains(name, "large Job") {
				r.Size = 100
			}
			got := Decide(r, tc.slot)
			if got.Rung != tc.want || !strings.Contains(got.Why, tc.why) {
				t.Errorf("%+v, want rung %q because of %q", got, tc.want, tc.why)
			}
		})
	}
}

func TestNextShare(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 20 * time.Second, 19 * time.Second: time.Second, 20 * time.Second: 20 * time.Second, 40 * time.Second: 0,
	} {
		if got := at(elapsed).NextShare(); got != want {
			t.Errorf("after %s: %s, want %s", elapsed, got, want)
		}
	}
}

func TestLost(t *testing.T) {
	deletedAt := metav1.NewTime(opened.Add(30 * time.Second)) // asked for at `opened`, with a grace of 30 s
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &deletedAt, ptr.To(int64(30)) }
	cases := map[string]struct {
		pod        *corev1.Pod
		lost, gone bool
	}{
		"a failed pod":                                   {pod(corev1.PodFailed), true, true},
		"a running pod":                                  {pod(corev1.PodRunning, runs), false, true},
		"a running pod that is being deleted":            {changed(pod(corev1.PodRunning, runs), deleted), false, true},
		"a worker that has finished":                     {pod(corev1.PodSucceeded, ended(0, 0)), false, false},
		"a worker that exited 0 in a deletion":           {changed(pod(corev1.PodSucceeded, ended(0, time.Second)), deleted), true, true},
		"a worker that had finished before the deletion": {changed(pod(corev1.PodSucceeded, ended(time.Minute, 0)), deleted), false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if Lost(tc.pod) != tc.lost || LostWhenGone(tc.pod) != tc.gone {
				t.Errorf("Lost %v, LostWhenGone %v; want %v, %v", Lost(tc.pod), LostWhenGone(tc.pod), tc.lost, tc.gone)
			}
		})
	}
}
