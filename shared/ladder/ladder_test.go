package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

// answers formats the answers as level:kind, in order.
func answers(c Chain, f Fault) string {
	var list []string
	for _, a := range Answers(c, f) {
		list = append(list, fmt.Sprintf("%d:%s", a.Level, a.Owner.Kind))
	}
	return strings.Join(list, " ")
}

func TestAnswers(t *testing.T) {
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

// The test tries every combination of objects. A fault of an owned pod has an answer unless all budgets are used up or only an
// AppWrapper would handle it. The levels of the answers rise, except for a move before the ElasticJob's own repair, and no program
// answers twice.
func TestEveryFaultHasAnAnswer(t *testing.T) {
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
		if a.Level < last && a.Program != Elastic {
			t.Errorf("%s: the answers to %s go down", answers(c, f), f)
		}
		seen[a.Program], last = true, a.Level
	}
}
