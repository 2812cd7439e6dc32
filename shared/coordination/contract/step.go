package contract

import (
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Step is one call of a script or of a random sequence. Its text is the language of the scripts:
//
//	open limit=3 epoch=1 token=1.1 inc=A stages=w:1x3/STEP/RELEASE [suspended] [recover] [reset] [done=0,2]
//	join 1b@2 [barrier] [for=5] [gone=5] [ahead=pod] [epoch=1 round=2 holds running entered instances=1]
//	                                                         slot 1, its instance b, in its pod 2; it runs, the one before is gone for so many
//	                                                         ms; a time that is two days ahead (of pod, instance, failed or detected); what was seen
//	down 1b code=137 [signal=9] [ended=hang] [reason=30s] [ordered] [barrier] [seen as above]
//	ask 1b kind=gap
//	recreate epoch=1 round=2 kind=timeout token=1.1
//	evict 1a@2 token=1.1                                     slot 1, its pod 2
//	drop token=1.1
//	save, restore, lose                                      faults: copy the data, go back to the copy, lose it all
//
// Slots are the pods of job 0 of the stage w, or of another one: x1b is of the stage x.
type Step struct {
	Verb string
	Who  string // of join, down, ask and evict

	Open    coordination.Open
	Seen    coordination.Seen
	Code    int64
	Ordered bool
	Barrier bool
	RunsFor int64
	GoneFor int64
	Ahead   string
	Exit    coordination.Exit
	Kind    string
	Round   int64 // of recreate; epoch and token are those of Open
}

func (s Step) String() string {
	switch s.Verb {
	case "open":
		return "open" + s.openText()
	case "join":
		return "join " + s.Who + word(s.Barrier, "barrier") + word(s.RunsFor != 0, fmt.Sprint("for=", s.RunsFor)) +
			word(s.GoneFor != 0, fmt.Sprint("gone=", s.GoneFor)) + word(s.Ahead != "", "ahead="+s.Ahead) + seenText(s.Seen)
	case "down":
		return fmt.Sprintf("down %s code=%d%s%s%s%s%s", s.Who, s.Code, exitText(s.Exit), word(s.Ordered, "ordered"), word(s.Barrier, "barrier"),
			word(s.Ahead != "", "ahead="+s.Ahead), seenText(s.Seen))
	case "ask":
		return fmt.Sprintf("ask %s kind=%s", s.Who, s.Kind)
	case "recreate":
		return fmt.Sprintf("recreate epoch=%d round=%d kind=%s token=%s", s.Open.Epoch, s.Round, s.Kind, tokenText(s.Open.Token))
	case "evict":
		return fmt.Sprintf("evict %s token=%s", s.Who, tokenText(s.Open.Token))
	case "drop":
		return "drop token=" + tokenText(s.Open.Token)
	}
	return s.Verb
}

func (s Step) openText() string {
	o := s.Open
	var stages, done []string
	for _, st := range o.Stages {
		stages = append(stages, fmt.Sprintf("%s:%dx%d/%d/%s", strings.TrimPrefix(st.Prefix, prefix), st.Jobs, st.Pods, st.Step, st.Release))
	}
	for _, d := range o.Done {
		done = append(done, strings.TrimPrefix(d, prefix+"w-0-"))
	}
	text := fmt.Sprintf(" epoch=%d limit=%d token=%s inc=%s stages=%s", o.Epoch, o.Limit, tokenText(o.Token), o.Incarnation, strings.Join(stages, ","))
	if len(done) > 0 {
		text += " done=" + strings.Join(done, ",")
	}
	return text + word(o.Suspended, "suspended") + word(o.Recover, "recover") + word(o.Reset, "reset")
}

func seenText(s coordination.Seen) string {
	if s == coordination.Unseen() {
		return ""
	}
	return fmt.Sprintf(" epoch=%d round=%d instances=%d%s%s%s",
		s.Epoch, s.Round, s.Instances, word(s.Holds, "holds"), word(s.Running, "running"), word(s.Entered, "entered"))
}

func exitText(e coordination.Exit) string {
	return word(e.Signal != 0, fmt.Sprint("signal=", e.Signal)) + word(e.Kind != "", "ended="+e.Kind) + word(e.Reason != "", "reason="+e.Reason)
}

func tokenText(t coordination.Token) string {
	return fmt.Sprintf("%d.%d", t.LeaseCreated, t.Transitions)
}

func word(is bool, text string) string {
	if is {
		return " " + text
	}
	return ""
}

const prefix = "js-"

// member and instance behind a name such as "1b@2": slot 1, instance b, pod 2. "x1b" is of the stage x.
func speaker(name string) (coordination.Member, coordination.Instance) {
	stage, pod := "w", int64(1)
	name, at, _ := strings.Cut(name, "@")
	if at != "" {
		pod = int64(at[0] - '0')
	}
	if len(name) == 3 {
		stage, name = name[:1], name[1:]
	}
	slot := fmt.Sprintf("%s%s-0-%c", prefix, stage, name[0])
	life := int64(name[1] - 'a' + 1)
	m := coordination.Member{
		Slot: slot, Pod: fmt.Sprintf("%s-pod%d", slot, pod), PodBorn: pod * 100,
		Place: coordination.Place{PodName: fmt.Sprintf("%s-%c", slot, 'u'+byte(pod)), Node: fmt.Sprint("node", pod)},
	}
	return m, coordination.Instance{ID: fmt.Sprintf("%s-%c", m.Pod, name[1]), Born: pod*100 + life}
}
