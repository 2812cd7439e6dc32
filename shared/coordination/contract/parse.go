package contract

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// parseLine reads one line of a script: a call, repeated for each name given, and what is expected after it.
func parseLine(line string) (steps []Step, want []string, err error) {
	call, expected, _ := strings.Cut(line, "=>")
	words := strings.Fields(call)
	s := defaults(words[0])
	var names []string
	for _, w := range words[1:] {
		key, value, isPair := strings.Cut(w, "=")
		switch {
		case s.set(key, value):
		case isPair:
			return nil, nil, fmt.Errorf("line %q: unknown setting %q", line, w)
		default:
			names = append(names, w)
		}
	}
	for _, name := range names {
		one := s
		one.Who = name
		steps = append(steps, one)
	}
	if len(steps) == 0 {
		steps = []Step{s}
	}
	return steps, strings.Fields(expected), nil
}

func defaults(verb string) Step {
	return Step{Verb: verb, Seen: coordination.Unseen(), Open: coordination.Open{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Incarnation: "A", Epoch: 1, Limit: 5,
		Stages: []coordination.Stage{{Prefix: prefix + "w", Jobs: 1, Pods: 3}},
	}}
}

// set takes one setting and tells whether it knew it.
func (s *Step) set(key, value string) bool {
	flags := map[string]*bool{
		"suspended": &s.Open.Suspended, "recover": &s.Open.Recover, "reset": &s.Open.Reset,
		"ordered": &s.Ordered, "holds": &s.Seen.Holds, "running": &s.Seen.Running, "entered": &s.Seen.Entered,
		"barrier": &s.Barrier,
	}
	numbers := map[string]*int64{
		"limit": &s.Open.Limit, "code": &s.Code, "instances": &s.Seen.Instances, "for": &s.RunsFor, "gone": &s.GoneFor, "signal": &s.Exit.Signal,
	}
	switch s.Verb {
	case "join", "down":
		numbers["epoch"], numbers["round"] = &s.Seen.Epoch, &s.Seen.Round
	default:
		numbers["epoch"], numbers["round"] = &s.Open.Epoch, &s.Round
	}
	if flag := flags[key]; flag != nil {
		*flag = true
		return true
	}
	if number := numbers[key]; number != nil {
		*number = integer(value)
		return true
	}
	return s.setText(key, value)
}

func (s *Step) setText(key, value string) bool {
	switch key {
	case "kind":
		s.Kind = value
	case "ended":
		s.Exit.Kind = value
	case "ahead":
		s.Ahead = value
	case "reason":
		s.Exit.Reason = value
	case "inc":
		s.Open.Incarnation = value
	case "token":
		created, transitions, _ := strings.Cut(value, ".")
		s.Open.Token = coordination.Token{LeaseCreated: integer(created), Transitions: integer(transitions)}
	case "stages":
		s.Open.Stages = parseStages(value)
	case "done":
		for slot := range strings.SplitSeq(value, ",") {
			s.Open.Done = append(s.Open.Done, prefix+"w-0-"+slot)
		}
	default:
		return false
	}
	return true
}

func parseStages(text string) []coordination.Stage {
	var stages []coordination.Stage
	for stage := range strings.SplitSeq(text, ",") {
		stages = append(stages, parseStage(stage))
	}
	return stages
}

// parseStage reads NAME:JOBSxPODS[/STEP[/RELEASE]].
func parseStage(text string) coordination.Stage {
	name, rest, _ := strings.Cut(text, ":")
	size, rest, _ := strings.Cut(rest, "/")
	step, release, _ := strings.Cut(rest, "/")
	jobs, pods, _ := strings.Cut(size, "x")
	return coordination.Stage{
		Prefix: prefix + name, Jobs: integer(jobs), Pods: integer(pods),
		Step: integer(cmp.Or(step, "0")), Release: coordination.Release(release),
	}
}

// integer reads a number of a script; a wrong one is a mistake in the test.
func integer(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
