package exclusive

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const rack = "example.com/rack"

type podOption func(*corev1.Pod)

// makePod returns an unbound, exclusively placed pod of Job "k".
func makePod(name, index string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1alpha2.JobKey: "k"},
		Annotations: map[string]string{v1alpha2.ExclusiveKey: rack, batchv1.JobCompletionIndexAnnotation: index},
	}}
	if index == "" {
		delete(pod.Annotations, batchv1.JobCompletionIndexAnnotation)
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

func on(node string) podOption { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
func to(domain string) podOption {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{rack: domain} }
}
func held(p *corev1.Pod)      { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: Gate}} }
func deleting(p *corev1.Pod)  { p.DeletionTimestamp = ptr.To(metav1.Now()) }
func failed(p *corev1.Pod)    { p.Status.Phase = corev1.PodFailed }
func succeeded(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
func aged(seconds int) podOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000-seconds), 0)) }
}

func TestTopology(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a pod that requests it":         {map[string]string{v1alpha2.ExclusiveKey: rack}, rack},
		"a pod that does not":            {nil, ""},
		"a pod whose nodes are reserved": {map[string]string{v1alpha2.ExclusiveKey: rack, v1alpha2.NodeSelectorStrategyKey: "true"}, ""},
		"a pod with only the strategy":   {map[string]string{v1alpha2.NodeSelectorStrategyKey: "true"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Topology(&metav1.ObjectMeta{Annotations: c.annotations}); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestLeaderAffinity(t *testing.T) {
	for name, pod := range map[string]*corev1.Pod{
		"the leader":             makePod("a-0", "0"),
		"a pod without an index": makePod("a-x", ""),
		"a pod that has affinities": makePod("a-0", "0", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			pod.Spec.Priority = ptr.To[int32](7)
			Prepare(pod, "", false)
			Prepare(pod, "", false) // again, as for a copy of a prepared pod
			own := terms(pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			others := terms(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			if own != "jobset.sigs.k8s.io/job-key In k" ||
				others != "jobset.sigs.k8s.io/job-key Exists , jobset.sigs.k8s.io/job-key NotIn k, jobset.sigs.k8s.io/priority In 7" {
				t.Errorf("affinity %q\nanti-affinity %q", own, others)
			}
			if pod.Labels[v1alpha2.PriorityKey] != "7" || Held(pod) || !Prepared(pod) {
				t.Errorf("got %+v", pod)
			}
		})
	}
}

// terms formats the affinity terms of the rack that apply to all namespaces.
func terms(all []corev1.PodAffinityTerm) string {
	var text []string
	for _, term := range all {
		if term.TopologyKey != rack || term.NamespaceSelector == nil {
			continue
		}
		for _, r := range term.LabelSelector.MatchExpressions {
			text = append(text, r.Key+" "+string(r.Operator)+" "+strings.Join(r.Values, ","))
		}
	}
	return strings.Join(text, ", ")
}

func TestFollowerUsesTheDomainOfItsLeaderOrWaits(t *testing.T) {
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		domain string
		over   bool
		wantTo string
		waits  bool
	}{
		"the domain is known":                      {makePod("a-1", "1"), "r1", false, "r1", false},
		"it is not known yet":                      {makePod("a-1", "1"), "", false, "", true},
		"a copy of a pod in another domain":        {makePod("a-1", "1", to("r0")), "r1", false, "r1", false},
		"a copy, and the domain is not known":      {makePod("a-1", "1", to("r0")), "", false, "", true},
		"a copy of a waiting pod":                  {makePod("a-1", "1", held), "r1", false, "r1", false},
		"index 0 has finished, others are running": {makePod("a-1", "1"), "r1", true, "r1", false},
	} {
		t.Run(name, func(t *testing.T) {
			Prepare(c.pod, c.domain, c.over)
			if got := c.pod.Spec.NodeSelector[rack]; got != c.wantTo || Held(c.pod) != c.waits || c.pod.Spec.Affinity != nil {
				t.Errorf("node selector %q, waits %v, affinity %v", got, Held(c.pod), c.pod.Spec.Affinity)
			}
			if !Prepared(c.pod) {
				t.Error("the pod is not prepared")
			}
		})
	}
	for name, pod := range map[string]*corev1.Pod{"a follower": makePod("a-1", "1"), "a leader": makePod("a-0", "0")} {
		if Prepared(pod) {
			t.Errorf("%s is reported as prepared although it is not", name)
		}
	}
}

func TestPodLeadsOnceTheLeaderHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		want   bool
	}{
		"at the start":                         {batchv1.JobStatus{}, false},
		"others have finished":                 {batchv1.JobStatus{CompletedIndexes: "1-4,6", FailedIndexes: ptr.To("5")}, false},
		"the leader has completed":             {batchv1.JobStatus{CompletedIndexes: "0,3"}, true},
		"the leader and others have completed": {batchv1.JobStatus{CompletedIndexes: "0-3"}, true},
		"the leader has failed permanently":    {batchv1.JobStatus{FailedIndexes: ptr.To("0")}, true},
		"an interval without an end":           {batchv1.JobStatus{CompletedIndexes: "0-"}, false},
		"index 10, which contains the digit 0": {batchv1.JobStatus{CompletedIndexes: "10"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := makePod("a-1", "1")
			Prepare(pod, "", LeaderIsOver(&batchv1.Job{Status: c.status}))
			if got := pod.Spec.Affinity != nil; got != c.want || Leads(pod) != c.want || !Prepared(pod) {
				t.Errorf("it chooses a domain: %v; it leads: %v; prepared: %v", got, Leads(pod), Prepared(pod))
			}
		})
	}
}

func TestWaitingFollower(t *testing.T) {
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"the first waiting pod, by name":   {[]*corev1.Pod{makePod("g", "2", held), makePod("f", "1", held)}, "f"},
		"not a pod that is being deleted":  {[]*corev1.Pod{makePod("f", "1", held, deleting)}, ""},
		"not a pod that may be scheduled":  {[]*corev1.Pod{makePod("f", "1", to("r1"))}, ""},
		"not a pod that has a node by now": {[]*corev1.Pod{makePod("f", "1", on("n1"))}, ""},
	} {
		got := ""
		if pod := Waiting(c.pods); pod != nil {
			got = pod.Name
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAnchor(t *testing.T) {
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"no pod has a node": {[]*corev1.Pod{makePod("leader", "0"), makePod("f", "1", held)}, ""},
		"the leader's":      {[]*corev1.Pod{makePod("f", "1", on("n1")), makePod("leader", "0", on("n0"))}, "leader"},
		"a follower's while the leader is recreated": {[]*corev1.Pod{makePod("leader", "0"), makePod("f", "1", on("n1"))}, "f"},
		"not that of a terminating leader":           {[]*corev1.Pod{makePod("old", "0", on("n0"), deleting), makePod("f", "1", on("n1"))}, "f"},
		"not that of a leader that failed":           {[]*corev1.Pod{makePod("old", "0", on("n0"), failed), makePod("new", "0", on("n1"))}, "new"},
		"none after all have failed":                 {[]*corev1.Pod{makePod("old", "0", on("n0"), failed), makePod("f", "1", held)}, ""},
		"none after the leader has succeeded":        {[]*corev1.Pod{makePod("leader", "0", on("n0"), succeeded), makePod("f", "1", held)}, ""},
		"not that of a leader that has succeeded":    {[]*corev1.Pod{makePod("done", "0", on("n0"), succeeded, aged(9)), makePod("f", "1", on("n1"))}, "f"},
		"the older of two leaders": {
			[]*corev1.Pod{makePod("young", "0", on("n0"), aged(1)), makePod("old", "0", on("n1"), aged(5))}, "old"},
		"any pod's if there are no indexes": {[]*corev1.Pod{makePod("a", ""), makePod("b", "", on("n0"))}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if anchor := Anchor(c.pods); anchor != nil {
				got = anchor.Name
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlan(t *testing.T) {
	racks := map[string]string{"n1": "r1", "n2": "r2"}
	leader := makePod("leader", "0", on("n1"))
	for name, c := range map[string]struct {
		pods           []*corev1.Pod
		domain         string
		release, evict string
	}{
		"a waiting pod is released to the domain of the leader": {[]*corev1.Pod{leader, makePod("f", "1", held)}, "r1", "f", ""},
		"a pod in the domain stays":                             {[]*corev1.Pod{leader, makePod("f", "1", to("r1"), on("n1"))}, "r1", "", ""},
		"a pod that will be scheduled there stays":              {[]*corev1.Pod{leader, makePod("f", "1", to("r1"))}, "r1", "", ""},
		"a pod that runs elsewhere is evicted":                  {[]*corev1.Pod{leader, makePod("f", "1", to("r2"), on("n2"))}, "r1", "", "f"},
		"a pod that will be scheduled elsewhere too":            {[]*corev1.Pod{leader, makePod("f", "1", to("r2"))}, "r1", "", "f"},
		"a pod that could be scheduled anywhere too":            {[]*corev1.Pod{leader, makePod("f", "1")}, "r1", "", "f"},
		"a pod placed in the domain by chance stays":            {[]*corev1.Pod{leader, makePod("f", "1", on("n1"))}, "r1", "", ""},
		"a pod on an unknown node stays":                        {[]*corev1.Pod{leader, makePod("f", "1", on("lost"))}, "r1", "", ""},
		"terminating and failed pods are left alone":            {[]*corev1.Pod{leader, makePod("f", "1", on("n2"), deleting), makePod("g", "2", on("n2"), failed)}, "r1", "", ""},
		"without a leader no pod is evicted":                    {[]*corev1.Pod{makePod("f", "1", on("n1")), makePod("g", "2", on("n2"))}, "r1", "", ""},
		"with a waiting leader no pod is evicted":               {[]*corev1.Pod{makePod("leader", "0"), makePod("f", "1", on("n1")), makePod("g", "2", to("r2"))}, "r1", "", ""},
		"a waiting pod follows running ones":                    {[]*corev1.Pod{makePod("leader", "0"), makePod("f", "1", on("n1")), makePod("g", "2", held)}, "r1", "g", ""},
		"pods without indexes are left to the scheduler":        {[]*corev1.Pod{makePod("a", "", on("n1")), makePod("b", "", on("n2"))}, "r1", "", ""},
		"a second leader is left to the Job controller":         {[]*corev1.Pod{leader, makePod("other", "0", on("n2"))}, "r1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := Plan(c.pods, c.domain, func(node string) string { return racks[node] })
			if got := names(m.Release); got != c.release {
				t.Errorf("released %q, want %q", got, c.release)
			}
			if got := names(m.Evict); got != c.evict {
				t.Errorf("evicted %q, want %q", got, c.evict)
			}
		})
	}
}

func names(pods []*corev1.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return strings.Join(all, " ")
}
