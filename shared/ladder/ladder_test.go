package ladder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/recovering"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func owner(group, kind string, annotations ...string) Owner {
	o := Owner{Group: group, Kind: kind, Name: strings.ToLower(kind), UID: kind, Annotations: map[string]string{}}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		o.Annotations[key] = value
	}
	return o
}

func job() Owner                   { return owner("batch", "Job") }
func jobSet(a ...string) Owner     { return owner(jobSetGroup, "JobSet", a...) }
func appWrapper(a ...string) Owner { return owner(appWrapperGroup, "AppWrapper", a...) }
func elasticJob(a ...string) Owner { return owner(elasticGroup, "ElasticJob", a...) }

const (
	inPlace = inPlaceTimeout + "=60s"
	sidecar = inPlaceDriver + "=cri"
	moves   = retries + "=3"
)

// answers as rung:kind, in order.
func answers(c Chain, f Fault) string {
	var list []string
	for _, a := range Answers(c, f) {
		list = append(list, fmt.Sprintf("%d:%s", a.Rung, a.Owner.Kind))
	}
	return strings.Join(list, " ")
}

func TestWhoAnswersWhat(t *testing.T) {
	whole := Chain{job(), jobSet(inPlace), appWrapper(moves)}
	cases := map[string]struct {
		chain Chain
		want  map[Fault]string
	}{
		"a JobSet that restarts in place, inside an AppWrapper, with moves": {whole, map[Fault]string{
			ProcessEnded: "1:JobSet 5:JobSet 6:AppWrapper", ContainerDied: "1:JobSet 5:JobSet 6:AppWrapper", PodLost: "1:JobSet 5:JobSet 6:AppWrapper",
			CannotRun: "4:AppWrapper 5:JobSet 6:AppWrapper", Drained: "4:JobSet 5:JobSet 6:AppWrapper", TimedOut: "5:JobSet 6:AppWrapper",
			BudgetSpent: "6:AppWrapper", NodeBad: "6:AppWrapper",
		}},
		"a sidecar restarts containers": {Chain{job(), jobSet(inPlace, sidecar)}, map[Fault]string{
			ProcessEnded: "2:JobSet 5:JobSet", BudgetSpent: "", NodeBad: "",
		}},
		"a JobSet without in-place restarts is recreated": {Chain{job(), jobSet(), appWrapper()}, map[Fault]string{
			ProcessEnded: "5:JobSet 6:AppWrapper", PodLost: "5:JobSet 6:AppWrapper", CannotRun: "5:JobSet 6:AppWrapper",
		}},
		"in-place restarts that are turned off for a driver": {Chain{job(), jobSet(inPlace, inPlaceDriver+"=none")}, map[Fault]string{ProcessEnded: "5:JobSet"}},
		"the rescheduler alone, on a JobSet": {Chain{job(), jobSet(moves)}, map[Fault]string{
			CannotRun: "4:JobSet 5:JobSet", NodeBad: "",
		}},
		"an ElasticJob goes on with fewer": {Chain{elasticJob(), appWrapper()}, map[Fault]string{
			ProcessEnded: "3:ElasticJob 6:AppWrapper", PodLost: "3:ElasticJob 6:AppWrapper", BudgetSpent: "6:AppWrapper", NodeBad: "6:AppWrapper",
		}},
		"an ElasticJob that restarts in place": {Chain{elasticJob(inPlace), appWrapper()}, map[Fault]string{
			ProcessEnded: "1:ElasticJob 3:ElasticJob 6:AppWrapper", ContainerDied: "3:ElasticJob 6:AppWrapper", PodLost: "3:ElasticJob 6:AppWrapper",
			Drained: "3:ElasticJob 6:AppWrapper", TimedOut: "3:ElasticJob 6:AppWrapper", BudgetSpent: "6:AppWrapper", NodeBad: "6:AppWrapper",
		}},
		"drivers are for JobSets":            {Chain{elasticJob(inPlace, sidecar)}, map[Fault]string{ProcessEnded: "1:ElasticJob 3:ElasticJob"}},
		"an ElasticJob whose pods are moved": {Chain{elasticJob(moves)}, map[Fault]string{CannotRun: "4:ElasticJob 3:ElasticJob", PodLost: "3:ElasticJob"}},
		"a plain Job makes its pods anew":    {Chain{job()}, map[Fault]string{PodLost: "4:Job", BudgetSpent: "", TimedOut: "", NodeBad: ""}},
		"a Job in an AppWrapper":             {Chain{job(), appWrapper()}, map[Fault]string{PodLost: "4:Job 6:AppWrapper", NodeBad: "6:AppWrapper"}},
		"nobody answers for a bare pod":      {nil, map[Fault]string{ProcessEnded: "", NodeBad: ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for fault, want := range tc.want {
				if diff := cmp.Diff(want, answers(tc.chain, fault)); diff != "" {
					t.Errorf("%s: %s", fault, diff)
				}
			}
		})
	}
}

// With every combination of what may be there: a fault of an owned pod has an answer unless all budgets are spent or only an AppWrapper would know of it, the answers climb
// but for a move before the ElasticJob's own repair, and no program answers twice.
func TestEveryFaultHasOneFirstAnswer(t *testing.T) {
	roots := []Chain{{job()}, {job(), jobSet()}, {job(), jobSet(inPlace)}, {job(), jobSet(inPlace, sidecar)}, {elasticJob()}, {elasticJob(inPlace)}}
	for _, root := range roots {
		for _, wrapped := range []bool{false, true} {
			for _, moved := range []bool{false, true} {
				c := append(Chain{}, root...)
				if wrapped {
					c = append(c, appWrapper())
				}
				if moved {
					c[0] = owner(c[0].Group, c[0].Kind, moves)
				}
				for _, f := range Faults {
					checkAnswers(t, c, f, wrapped)
				}
			}
		}
	}
}

func checkAnswers(t *testing.T, c Chain, f Fault, wrapped bool) {
	t.Helper()
	list := Answers(c, f)
	if len(list) == 0 && (wrapped || (f != BudgetSpent && f != TimedOut && f != NodeBad)) {
		t.Errorf("nobody answers %s of %+v", f, c)
	}
	seen := map[Program]bool{}
	last := 0
	for _, a := range list {
		if seen[a.Program] {
			t.Errorf("%s answers %s twice: %s", a.Program, f, answers(c, f))
		}
		if a.Rung < last && a.Program != Elastic {
			t.Errorf("%s: the answers to %s go down", answers(c, f), f)
		}
		seen[a.Program], last = true, a.Rung
	}
	if len(list) > 0 && First(c, f) != list[0] {
		t.Errorf("the first answer to %s is another", f)
	}
}

func TestANodeIsLeftOnce(t *testing.T) {
	atWork := func(o Owner, rung int) Owner {
		o.Annotations[recovering.Annotation] = recovering.State{Rung: rung, Reason: "x", Deadline: noon.Add(time.Minute)}.Format()
		return o
	}
	wrapped := Chain{job(), jobSet(inPlace), appWrapper(moves)}
	single := Chain{job(), jobSet(inPlace, moves)}
	all := Marks{Evict: true, Tainted: true, Gone: true}
	cases := map[string]struct {
		chain Chain
		marks Marks
		goes  string // programs that act
	}{
		"EVICT, a taint and living pods: the AppWrapper alone":             {wrapped, Marks{Evict: true, Tainted: true}, "appwrapper-controller"},
		"a pod is gone as well: its slot is filled, and lost in the reset": {wrapped, all, "orchestrator appwrapper-controller"},
		"without an AppWrapper the rescheduler moves":                      {single, Marks{Evict: true, Tainted: true}, "rescheduler"},
		"a taint took the pod: the group repairs it":                       {Chain{job(), jobSet(inPlace)}, Marks{Gone: true}, "orchestrator"},
		"the group restarts: nobody moves its pods": {
			Chain{job(), atWork(jobSet(inPlace, moves), recovering.RungProcess)}, Marks{Tainted: true}, ""},
		"all Jobs are recreated: nobody moves their pods": {
			Chain{job(), atWork(jobSet(inPlace, moves), recovering.RungRecreate)}, Marks{Tainted: true}, ""},
		"the workload is being reset: nobody moves its pods": {
			Chain{job(), jobSet(inPlace), atWork(appWrapper(moves), recovering.RungReset)}, Marks{Tainted: true}, ""},
		"EVICT does not wait for a restart in place": {
			Chain{job(), atWork(jobSet(inPlace), recovering.RungProcess), appWrapper()}, Marks{Evict: true}, "appwrapper-controller"},
		"nobody asks for moves": {Chain{job(), jobSet(inPlace)}, Marks{Evict: true}, ""},
		"nothing is wrong":      {Chain{job(), jobSet(inPlace), appWrapper()}, Marks{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var goes []string
			for _, p := range []Program{Orchestrator, Rescheduler, AppWrappers} {
				v := Leave(p, tc.chain, tc.marks, noon)
				if v.Go {
					goes = append(goes, string(p))
				} else if v.Why == "" {
					t.Errorf("%s does not say why it stays", p)
				}
			}
			if diff := cmp.Diff(tc.goes, strings.Join(goes, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhoWaitsKnowsUntilWhen(t *testing.T) {
	js := jobSet(inPlace, moves)
	js.Annotations[recovering.Annotation] = recovering.State{Rung: recovering.RungProcess, Reason: "x", Deadline: noon.Add(time.Minute)}.Format()
	c := Chain{job(), js}
	if v := Leave(Rescheduler, c, Marks{Tainted: true}, noon); v.Go || !v.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("%+v", v)
	}
	if v := Leave(Rescheduler, c, Marks{Tainted: true}, noon.Add(time.Minute)); !v.Go {
		t.Errorf("after the deadline: %+v", v)
	}
}
