package exclusive

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestTheFirstIndexThatIsNotOver(t *testing.T) {
	for name, c := range map[string]struct {
		completed, failed string
		want              int
	}{
		"at the start":                   {"", "", 0},
		"others are over":                {"1-4,6", "5", 0},
		"the leader is done":             {"0", "", 1},
		"and those after it":             {"0-3,5", "", 4},
		"the leader has failed for good": {"", "0", 1},
		"some are done, others failed":   {"0,3-4", "1-2", 5},
		"neighbours in two intervals":    {"0-1,2-3", "", 4},
		"two digits":                     {"0-9,10,12", "11", 13},
		"what nobody understands":        {"0,x,2", "", 1},
		"an interval without an end":     {"0-", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{Status: batchv1.JobStatus{CompletedIndexes: c.completed}}
			if c.failed != "" {
				job.Status.FailedIndexes = ptr.To(c.failed)
			}
			if got := RunOf(job).First; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestWhoLeadsAfterTheLeader(t *testing.T) {
	elected := func(p *corev1.Pod) { p.Annotations[LeaderKey] = "true" }
	for name, c := range map[string]struct {
		run   Run
		pod   *corev1.Pod
		leads bool
	}{
		"index 0, as ever":                    {Run{}, makePod("a", "0"), true},
		"the next one once 0 is over":         {Run{First: 1}, makePod("a", "1"), true},
		"nobody after that":                   {Run{First: 1}, makePod("a", "2"), false},
		"not the next one while 0 is there":   {Run{}, makePod("a", "1"), false},
		"not a copy of one that led before":   {Run{First: 2}, makePod("a", "1", elected), false},
		"not one whose template says it does": {Run{}, makePod("a", "1", elected), false},
		"one without an index, as ever":       {Run{First: 1}, makePod("a", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			c.run.Elect(c.pod)
			if got := Leads(c.pod); got != c.leads {
				t.Errorf("leads: %v", got)
			}
			Prepare(c.pod, "")
			if got := c.pod.Spec.Affinity != nil; got != c.leads || !Prepared(c.pod) {
				t.Errorf("it chooses a domain: %v; prepared: %v", got, Prepared(c.pod))
			}
		})
	}
	bare := &corev1.Pod{}
	Run{First: 1}.Elect(bare)
	if len(bare.Annotations) > 0 {
		t.Errorf("a pod without annotations: %v", bare.Annotations)
	}
}

func TestPodsThatHaveSucceededKeepNoDomain(t *testing.T) {
	suspended := []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
	done := makePod("leader", "0", on("n0"), succeeded)
	lost := makePod("leader", "0", on("n0"), failed)
	follower := makePod("f", "2", held)
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		pods   []*corev1.Pod
		want   string
	}{
		"the leader has just succeeded":                         {batchv1.JobStatus{}, []*corev1.Pod{done, follower}, "leader f"},
		"index 0 has completed":                                 {batchv1.JobStatus{CompletedIndexes: "0"}, []*corev1.Pod{done, follower}, "f"},
		"index 0 has failed for good":                           {batchv1.JobStatus{FailedIndexes: ptr.To("0")}, []*corev1.Pod{done, follower}, "f"},
		"the Job is resumed, and its status is not written yet": {batchv1.JobStatus{Conditions: suspended}, []*corev1.Pod{done, follower}, "f"},
		"a failed leader, which never decides anything":         {batchv1.JobStatus{CompletedIndexes: "0"}, []*corev1.Pod{lost}, "leader"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(RunOf(&batchv1.Job{Status: c.status}).Current(c.pods)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhenAPodMayBeMadeAnew(t *testing.T) {
	for name, c := range map[string]struct {
		limit, perIndex *int32
		failed          int32
		want            bool
	}{
		"by default":                      {nil, nil, 5, true},
		"the default is used up":          {nil, nil, 6, false},
		"one is left":                     {ptr.To[int32](1), nil, 0, true},
		"none is left":                    {ptr.To[int32](1), nil, 1, false},
		"no failure is allowed":           {ptr.To[int32](0), nil, 0, false},
		"each index has a limit, however": {ptr.To[int32](9), ptr.To[int32](3), 0, false},
	} {
		job := &batchv1.Job{Spec: batchv1.JobSpec{BackoffLimit: c.limit, BackoffLimitPerIndex: c.perIndex}, Status: batchv1.JobStatus{Failed: c.failed}}
		if got := Spares(job); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAFollowerThatWaitsForNobodyIsToLead(t *testing.T) {
	for name, c := range map[string]struct {
		first int
		pods  []*corev1.Pod
		want  string
	}{
		"the one of the first index":       {1, []*corev1.Pod{makePod("g", "2", held), makePod("f", "1", held)}, "f"},
		"not before index 0 is over":       {0, []*corev1.Pod{makePod("f", "1", held)}, ""},
		"not while a leader waits":         {1, []*corev1.Pod{makePod("l", "1", func(p *corev1.Pod) { p.Annotations[LeaderKey] = "" }), makePod("g", "2", held)}, ""},
		"not while somebody runs":          {1, []*corev1.Pod{makePod("f", "1", held), makePod("g", "2", on("n1"))}, ""},
		"not one that goes already":        {1, []*corev1.Pod{makePod("f", "1", held, deleting)}, ""},
		"not one that may go somewhere":    {1, []*corev1.Pod{makePod("f", "1", to("r1"))}, ""},
		"nobody where the first is absent": {3, []*corev1.Pod{makePod("f", "1", held)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if heir := (Run{First: c.first}).Heir(c.pods); heir != nil {
				got = heir.Name
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
