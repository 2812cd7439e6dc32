package rounds

import (
	"fmt"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// release returns the Call that releases a pod from a slot and assigns the slot to an heir.
func release(slot int, pod, heir, own string) Call {
	h := Slot{}
	if heir != "" {
		h = Slot{own, heir}
	}
	return Release(coordination.Token{LeaseCreated: 1}, "i1", 0, Slot{fmt.Sprint("w-", slot), pod}, fmt.Sprint("w-", slot), h)
}

// running returns a store in which a group of three slots is running in pods a, b and c.
func running(t *testing.T) store {
	t.Helper()
	s := newStore(t, 3)
	for slot, pod := range []string{"a", "b", "c"} {
		s.call(join(slot, pod, 0, Past{Kind: PastNew}))
	}
	if !s.level().Running() {
		t.Fatalf("all three have joined: %s", s.level())
	}
	return s
}

// joinIn returns the Call with which a new pod joins round 1.
func joinIn(slot int, pod string) Call {
	return Join("i1", 0, 1, 1, Member{Slot: Slot{fmt.Sprint("w-", slot), pod}, ID: pod + ".1", Attempt: 1, Past: Past{Kind: PastNew}})
}

// state describes which pod holds a slot, which pod the slot is assigned to, which slot is assigned to that pod, and the pod's
// host name.
func (s store) state(slot int) string {
	g := s.Hash(KeysOf("g").Config())
	name := fmt.Sprint("w-", slot)
	given := g["o:"+name]
	text := fmt.Sprintf("held by %s, given to %s, which has %s", s.Hash(KeysOf("g").Holders(1))[name], given, g["p:"+given])
	if home := g["h:"+name]; home != "" {
		text += " at " + home
	}
	return text
}

func TestASlotIsGiven(t *testing.T) {
	const given = "held by s, given to s, which has w-0 at w-spares-0"
	for name, c := range map[string]struct {
		calls []Call
		want  string // state of slot 0
	}{
		"in the call that fences the lost pod":       {[]Call{release(0, "a", "s", "w-spares-0")}, given},
		"after the lost pod was released":            {[]Call{release(0, "a", "", ""), release(0, "", "s", "w-spares-0")}, given},
		"again, which changes nothing":               {[]Call{release(0, "a", "s", "w-spares-0"), release(0, "", "s", "w-spares-0")}, given},
		"not while another pod holds it":             {[]Call{release(0, "x", "s", "w-spares-0")}, "held by a, given to , which has "},
		"not to a pod that is assigned another slot": {[]Call{release(1, "b", "s", "w-spares-0"), release(0, "a", "s", "w-spares-0")}, "held by , given to , which has "},
		"not to a pod that holds its own slot":       {[]Call{release(0, "a", "b", "w-1")}, "held by , given to , which has "},
		"not to a fenced pod":                        {[]Call{release(1, "s", "", ""), release(0, "a", "s", "w-spares-0")}, "held by , given to , which has "},
		"not while it is assigned to a pod that has not been released": {
			[]Call{release(0, "a", "s", "w-spares-0"), release(0, "", "r", "w-spares-1")}, given,
		},
		"to the next pod when the first one is lost": {[]Call{release(0, "a", "s", "w-spares-0"), release(0, "s", "r", "w-0")}, "held by r, given to r, which has w-0 at w-0"},
		"and stays with a lost pod until then":       {[]Call{release(0, "a", "s", "w-spares-0"), release(0, "s", "", ""), joinIn(0, "r")}, "held by , given to s, which has w-0 at w-spares-0"},
		"so that no other pod joins":                 {[]Call{release(0, "a", "s", "w-spares-0"), joinIn(0, "r")}, given},
		"although the pod has left it": {[]Call{
			release(0, "a", "s", "w-spares-0"), Down("i1", 0, Death{Slot: Slot{"w-0", "s"}, ID: "s.1", Round: 1, Leaves: true, Cause: "exit 1"}), joinIn(0, "r"),
		}, "held by , given to s, which has w-0 at w-spares-0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(t)
			for _, call := range c.calls {
				s.call(call)
			}
			if got := s.state(0); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAPodThatWasGivenASlotJoinsInNoOther(t *testing.T) {
	s := running(t)
	s.call(release(0, "a", "s", "w-spares-0"))
	s.call(release(1, "b", "", ""))
	if reply := s.call(joinIn(1, "s")); reply != string(AnswerHeld) {
		t.Errorf("in slot 1: %s", reply)
	}
	if reply := s.call(joinIn(0, "s")); reply != string(AnswerJoined) {
		t.Errorf("in slot 0: %s", reply)
	}
}

// A single call fences the lost pod, opens the next round and assigns the slot. The last join starts that round.
func TestASpareCompletesTheRound(t *testing.T) {
	s := running(t)
	s.call(release(0, "a", "s", "w-spares-0"))
	if l := s.level(); !l.Restarting() || l.Round != 1 {
		t.Fatalf("the level after the release is %s", l)
	}
	for slot, pod := range []string{"s", "b", "c"} {
		s.call(Join("i1", 0, 1, 1, Member{Slot: Slot{fmt.Sprint("w-", slot), pod}, ID: pod + ".2", Attempt: 2, Past: Past{Kind: PastRan}}))
	}
	if l := s.level(); !l.Running() || l.Round != 1 {
		t.Errorf("all have joined: %s", l)
	}
}

func TestTheLeaderWritesWhatWasGiven(t *testing.T) {
	want := Config{
		Token: coordination.Token{LeaseCreated: 1}, Incarnation: "i1", Generation: 1, Units: []Unit{{Slots: 3, End: 1}},
		Given: []Seat{{Slot{"w-0", "s"}, "w-spares-0"}, {Slot{"w-2", "r"}, "w-spares-1"}},
	}
	s := newStore(t, 3)
	s.call(Set(s.stored(), Fresh(Level{Incarnation: "i1", Generation: 1, Phase: Active, Left: NoUnits}, 1), want))
	got, err := ParseConfig(s.Hash(KeysOf("g").Config()))
	if err != nil || fmt.Sprint(got.Given) != fmt.Sprint(want.Given) {
		t.Errorf("read %v, %v", got.Given, err)
	}
	if s.state(2) != "held by , given to r, which has w-2 at w-spares-1" {
		t.Error(s.state(2))
	}
}

func TestThePlaceOfASpare(t *testing.T) {
	hash := map[string]string{"inc": "i1", "limit": "9", "u:js-w": "0 2 1 0 held", "o:js-w-1-0": "s", "p:s": "js-w-1-0", "p:late": "js-w-7-0"}
	for name, c := range map[string]struct {
		own  Slot
		want string
	}{
		"a pod in its own slot":                        {Slot{"js-w-0-0", "a"}, "given  spare false"},
		"a waiting spare":                              {Slot{"js-w-spares-1", "q"}, "given  spare true"},
		"a spare with an assigned slot":                {Slot{"js-w-spares-0", "s"}, "given js-w-1-0 spare true"},
		"a pod whose slot was assigned to another pod": {Slot{"js-w-1-0", "b"}, "given  spare true"},
		"a pod whose assigned slot no longer exists":   {Slot{"js-w-0-0", "late"}, "given js-w-7-0 spare false"},
		"a name that is neither a slot nor a spare":    {Slot{"js-w-7-0", "x"}, "not a slot of this group: \"js-w-7-0\""},
		"a spare of a stage that is not in the group":  {Slot{"js-v-spares-0", "x"}, "not a slot of this group: \"js-v-spares-0\""},
	} {
		t.Run(name, func(t *testing.T) {
			fields := PlaceFields(c.own)
			for i, field := range fields {
				fields[i] = hash[field]
			}
			p, err := PlaceOf(c.own, fields)
			got := fmt.Sprintf("given %s spare %t", p.Given, p.Spare)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
