package ladder

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/grace"
)

var opened = time.Unix(10_000, 0)

const (
	early  = 10 * time.Second // in a round with a timeout of 60 s
	middle = 25 * time.Second
	late   = 45 * time.Second
)

// at returns a round with a timeout of 60 s in a group of 8 slots.
func at(elapsed time.Duration) Round {
	return Round{Clock: grace.Deadline{Start: opened, Period: time.Minute}, Now: opened.Add(elapsed), Size: 8, Missing: 1}
}

func older() time.Time   { return opened.Add(-time.Hour) }
func younger() time.Time { return opened.Add(time.Second) }

func job(pods int64, change ...func(*workload.Job)) *workload.Job {
	j := &workload.Job{Name: "js-w-0", Created: older(), Pods: pods}
	for _, c := range change {
		c(j)
	}
	return j
}

func pod(phase workload.Phase, containers ...workload.Container) *workload.Pod {
	return &workload.Pod{Created: older(), Phase: phase, Containers: containers}
}

func changed(p *workload.Pod, change func(*workload.Pod)) *workload.Pod { change(p); return p }

func created(t time.Time) func(*workload.Pod) {
	return func(p *workload.Pod) { p.Created = t }
}

func deleting(p *workload.Pod) { p.Deleting = true }

func waiting(reason, message string) workload.Container {
	return workload.Container{Waiting: true, Reason: reason, Message: message}
}

func ended(ago, elapsed time.Duration) workload.Container {
	return workload.Container{Exited: &workload.Exit{Code: 143, At: opened.Add(elapsed - ago)}}
}

var runs = workload.Container{Running: true}

// backedOff returns a pod with a container that has been backing off since it exited.
func backedOff(message string, exit time.Duration) *workload.Pod {
	p := pod(workload.Running, waiting("CrashLoopBackOff", message))
	p.Containers[0].Last = &workload.Exit{At: opened.Add(exit)}
	return p
}

func TestDecide(t *testing.T) {
	pullFails := func() *workload.Pod { return pod(workload.Pending, waiting("ImagePullBackOff", "")) }
	creating := func() *workload.Pod { return pod(workload.Pending, waiting("ContainerCreating", "")) }
	failedOften := func(j *workload.Job) { j.Failures = 3 }
	cases := map[string]struct {
		elapsed time.Duration
		slot    Slot
		want    Scope
		why     string
	}{
		"early, a stuck pod is left alone":                                      {early, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"a stuck pod is deleted":                                                {middle, Slot{Job: job(4), Pod: pullFails()}, Pod, "ImagePullBackOff"},
		"so is a stuck pod with a running container":                            {middle, Slot{Job: job(4), Pod: pod(workload.Running, runs, waiting("CreateContainerError", ""))}, Pod, "CreateContainerError"},
		"a pod of this round is not deleted again":                              {middle, Slot{Job: job(4), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"a pod created in the second of the round's start belongs to the round": {middle, Slot{Job: job(4), Pod: changed(pullFails(), created(opened))}, None, ""},
		"a pod that is being deleted is left alone":                             {middle, Slot{Job: job(4), Pod: changed(pullFails(), deleting)}, None, ""},
		"a running worker is left alone at first":                               {middle, Slot{Job: job(4), Pod: pod(workload.Running, runs)}, None, ""},
		"a worker that is being created is left alone":                          {middle, Slot{Job: job(4), Pod: creating()}, None, ""},
		"a pod without a node is left alone":                                    {middle, Slot{Job: job(4), Pod: pod(workload.Pending)}, None, ""},
		"a worker that has just exited is left alone":                           {middle, Slot{Job: job(4), Pod: pod(workload.Running, ended(time.Second, middle))}, None, ""},
		"a worker that stays exited is not":                                     {middle, Slot{Job: job(4), Pod: pod(workload.Running, ended(20*time.Second, middle))}, Pod, "code 143"},
		"a back-off that ends in time is left alone":                            {middle, Slot{Job: job(4), Pod: backedOff("back-off 20s restarting failed container=worker", 20*time.Second)}, None, ""},
		"a back-off that ends too late is not":                                  {middle, Slot{Job: job(4), Pod: backedOff("back-off 1m20s restarting failed container=worker", 20*time.Second)}, Pod, "CrashLoopBackOff with a delay of 1m20s"},
		"its jitter counts":                                                     {middle, Slot{Job: job(4), Pod: backedOff("back-off 30s restarting failed container=worker", 20*time.Second)}, Pod, "30s"},
		"a back-off of unknown length is the longest":                           {middle, Slot{Job: job(4), Pod: backedOff("", 0)}, Pod, "5m0s"},
		"if there is no pod, the Job creates one":                               {middle, Slot{Job: job(4)}, None, ""},

		"late, a small Job is recreated for a running worker that does not join":      {late, Slot{Job: job(4), Pod: pod(workload.Running, runs)}, Job, "has not joined"},
		"late, a small Job is recreated for a stuck pod of this round":                {late, Slot{Job: job(4), Pod: changed(pullFails(), created(younger()))}, Job, "ImagePullBackOff"},
		"late, a small Job is recreated for an old pod that never starts":             {late, Slot{Job: job(4), Pod: creating()}, Job, "started"},
		"late, a new pod that is being started is left alone":                         {late, Slot{Job: job(4), Pod: changed(creating(), created(younger()))}, None, ""},
		"late, a back-off that ends in time is still left alone":                      {late, Slot{Job: job(4), Pod: backedOff("back-off 5s restarting failed container=worker", 44*time.Second)}, None, ""},
		"late, a Job that is the whole group is left to the end":                      {late, Slot{Job: job(8), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"late, in a large Job only the pod is deleted although its worker is running": {late, Slot{Job: job(17), Pod: pod(workload.Running, runs)}, Pod, "has not joined"},
		"late, in a large Job a pod of this round is left to the end":                 {late, Slot{Job: job(17), Pod: changed(pullFails(), created(younger()))}, None, ""},
		"late, a pod that the Job creates in time is awaited":                         {late, Slot{Job: job(4)}, None, ""},
		"late, a Job whose back-off is too long is recreated, however large":          {late, Slot{Job: job(500, failedOften)}, Job, "has no pod, and its Job would create a new one too late"},
		"late, the same after a failed pod":                                           {late, Slot{Job: job(500, failedOften), Pod: pod(workload.Failed)}, Job, "failed"},
		"late, a Job of this round is not recreated again":                            {late, Slot{Job: job(4, func(j *workload.Job) { j.Created = younger() }), Pod: pullFails()}, None, ""},
		"late, a Job that is being deleted is left alone":                             {late, Slot{Job: job(4, func(j *workload.Job) { j.Deleting = true }), Pod: pullFails()}, None, ""},
		"late, without a Job there is nothing to delete":                              {late, Slot{Pod: pullFails()}, None, ""},

		"with most of the group missing, no pod is deleted":               {middle, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"with most of the group missing, late, no Job is deleted either":  {late, Slot{Job: job(4), Pod: pullFails()}, None, ""},
		"with most of the group missing, a Job that is done is recreated": {middle, Slot{Job: job(4), Completed: true}, Job, "exited 0"},
		"a pod that has succeeded needs a new Job immediately":            {0, Slot{Job: job(8), Pod: pod(workload.Succeeded, ended(0, 0))}, Job, "exited 0"},
		"so does a slot that its Job counts as completed":                 {0, Slot{Job: job(8), Completed: true}, Job, "exited 0"},
		"but not if its worker is running":                                {0, Slot{Job: job(8), Completed: true, Pod: pod(workload.Running, runs)}, None, ""},
		"nor twice in a round":                                            {early, Slot{Job: job(8, func(j *workload.Job) { j.Created = younger() }), Completed: true}, None, ""},
		"a failed pod is replaced by its Job":                             {middle, Slot{Job: job(4), Pod: pod(workload.Failed)}, None, ""},
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
			if got.Scope != tc.want || !strings.Contains(got.Why, tc.why) {
				t.Errorf("%+v, want scope %q because of %q", got, tc.want, tc.why)
			}
		})
	}
}

func TestRepairsIn(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 20 * time.Second, 19 * time.Second: time.Second, 20 * time.Second: 0, 40 * time.Second: -20 * time.Second,
	} {
		if got := at(elapsed).RepairsIn(); got != want {
			t.Errorf("after %s: %s, want %s", elapsed, got, want)
		}
	}
}
