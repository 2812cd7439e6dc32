package rounds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Config is the part of a group's data that the leader decides. Members cannot write it.
type Config struct {
	Token       coordination.Token
	Incarnation string
	Generation  int64
	Limit       int64         // the highest round that the budget allows
	MaxPause    time.Duration // upper limit of Level.Pause, in whole milliseconds; 0 means no pauses
	Units       []Unit
	Stages      []Bounds
	Fenced      []string // UIDs of pods
	// Given are the slots that the leader has assigned to pods, ordered by slot. No other pod can join in these slots.
	Given []Seat
}

// Seat is a slot assigned to a pod. Home is the pod's own slot, or its name as a spare, which is also the pod's host name.
type Seat struct {
	Slot
	Home string
}

// Unit is a set of stages that start and leave together.
type Unit struct {
	Slots int64 // slots that must join; 0 once the unit has left
	End   int   // number of units up to and including the last unit of its step
}

// Bounds is a stage and the unit that it belongs to.
type Bounds struct {
	coordination.Stage
	Unit int
}

// Free reports whether finished workers of the stage are released, because they will not run again.
func (b Bounds) Free() bool { return b.Release == coordination.ReleaseFree }

// Place is what the leader has decided about a pod.
type Place struct {
	Bounds
	Limit int64 // the highest round that the budget allows
	// Given is the slot that the leader has assigned to the pod, or "". The slot may have been removed from the stage since.
	Given string
	// Spare reports whether the pod has no slot of its own, because it was created as a spare or its slot was assigned to another
	// pod.
	Spare bool
}

func (b Bounds) text() string {
	return fmt.Sprintf("%d %d %d %d %s", b.Unit, b.Jobs, b.Pods, b.Step, cmp.Or(b.Release, held))
}

// held is how ReleaseHeld is stored.
const held = coordination.Release("held")

// Prefixes of the fields for slots assigned to pods.
const (
	givenTo   = "o:" // by slot: the pod assigned to it
	givenSlot = "p:" // by pod: the slot assigned to it
	givenHome = "h:" // by slot: its assigned pod's home
)

// fields returns the hash fields except the token.
func (c Config) fields() []any {
	f := []any{
		"inc", c.Incarnation, "gen", c.Generation, "limit", c.Limit, "delay", c.MaxPause.Milliseconds(), "units", len(c.Units),
	}
	for i, u := range c.Units {
		f = append(f, "n"+strconv.Itoa(i), u.Slots, "e"+strconv.Itoa(i), u.End)
	}
	for _, b := range c.Stages {
		f = append(f, "u:"+b.Prefix, b.text())
	}
	for _, pod := range c.Fenced {
		f = append(f, "x:"+pod, 1)
	}
	for _, s := range c.Given {
		f = append(f, givenTo+s.Name, s.Pod, givenSlot+s.Pod, s.Name, givenHome+s.Name, s.Home)
	}
	return f
}

// ParseConfig parses the hash. Errors name the field.
func ParseConfig(hash map[string]string) (Config, error) {
	p := parser{hash: hash}
	c := Config{
		Incarnation: hash["inc"], Generation: p.count("gen"), Limit: p.count("limit"),
		MaxPause: time.Duration(p.count("delay")) * time.Millisecond,
	}
	created, transitions, _ := strings.Cut(hash["token"], " ")
	c.Token = coordination.Token{LeaseCreated: p.parse("token", created), Transitions: p.parse("token", transitions)}
	units := p.count("units")
	if units > MaxUnits {
		return Config{}, fmt.Errorf("reading the group: too many units: %d", units)
	}
	for i := range int(units) {
		c.Units = append(c.Units, Unit{Slots: p.count("n" + strconv.Itoa(i)), End: int(p.count("e" + strconv.Itoa(i)))})
	}
	for _, field := range slices.Sorted(maps.Keys(hash)) {
		if prefix, ok := strings.CutPrefix(field, "u:"); ok {
			b, err := ParseBounds(prefix, hash[field])
			p.err = cmp.Or(p.err, err)
			c.Stages = append(c.Stages, b)
		} else if pod, ok := strings.CutPrefix(field, "x:"); ok {
			c.Fenced = append(c.Fenced, pod)
		} else if slot, ok := strings.CutPrefix(field, givenTo); ok {
			c.Given = append(c.Given, Seat{Slot{slot, hash[field]}, hash[givenHome+slot]})
		}
	}
	return c, p.err
}

// ParseBounds parses the stored form of a stage.
func ParseBounds(prefix, text string) (Bounds, error) {
	f := strings.Split(text, " ")
	if len(f) != 5 {
		return Bounds{}, fmt.Errorf("stage %s: %.80q does not have 5 fields", prefix, text)
	}
	numbers, err := parseCounts(f[:4]...)
	if err != nil {
		return Bounds{}, fmt.Errorf("stage %s: %w", prefix, err)
	}
	b := Bounds{
		Stage: coordination.Stage{Prefix: prefix, Jobs: numbers[1], Pods: numbers[2], Step: numbers[3], Release: coordination.Release(f[4])},
		Unit:  int(numbers[0]),
	}
	if b.Unit >= MaxUnits {
		return Bounds{}, fmt.Errorf("stage %s: unit %d is out of range", prefix, b.Unit)
	}
	if b.Release == held {
		b.Release = coordination.ReleaseHeld
	}
	return b, nil
}

// parser parses fields of a hash and keeps the first error.
type parser struct {
	hash map[string]string
	err  error
}

func (p *parser) count(field string) int64 { return p.parse(field, p.hash[field]) }

func (p *parser) parse(field, text string) int64 {
	n, err := parseCount(text)
	if err != nil {
		p.err = cmp.Or(p.err, fmt.Errorf("reading the group: field %s: %w", field, err))
	}
	return n
}

// PlaceFields returns the hash fields that PlaceOf needs.
func PlaceFields(own Slot) []string {
	return []string{"inc", "limit", "u:" + StageOf(own.Name), givenTo + own.Name, givenSlot + own.Pod}
}

// PlaceOf returns what the leader has decided about a pod. own names the slot for which the pod was created, or the spare. values are the
// values of PlaceFields; a value is empty if the field does not exist.
func PlaceOf(own Slot, values []string) (Place, error) {
	inc, limit, stage, to, given := values[0], values[1], values[2], values[3], values[4]
	switch {
	case inc == "":
		return Place{}, coordination.ErrNoGroup
	case stage == "":
		return Place{}, fmt.Errorf("%w: %.80q", coordination.ErrUnknownSlot, own.Name)
	}
	b, err := ParseBounds(StageOf(own.Name), stage)
	if err != nil {
		return Place{}, err
	}
	spare := b.HasSpare(own.Name)
	if !spare && given == "" && !b.Has(own.Name) {
		return Place{}, fmt.Errorf("%w: %.80q", coordination.ErrUnknownSlot, own.Name)
	}
	var p parser
	return Place{Bounds: b, Limit: p.parse("limit", limit), Given: given, Spare: spare || (to != "" && to != own.Pod)}, p.err
}

// HomeFields returns the hash fields that contain the homes of the workers in the given slots. Each value is the home of the pod
// to which the slot is assigned; see Seat.
func HomeFields(slots []string) []string {
	fields := make([]string, len(slots))
	for i, slot := range slots {
		fields[i] = givenHome + slot
	}
	return fields
}

// StageOf returns the prefix of a slot's stage: the slot's name without -JOB-POD.
func StageOf(slot string) string {
	for range 2 {
		slot = slot[:max(0, strings.LastIndex(slot, "-"))]
	}
	return slot
}
