package contract

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// testArguments gives what no agent or leader may give: it is refused, and nothing changes.
func testArguments(t *testing.T, newStore func(t *testing.T) Harness) {
	ctx := t.Context()
	r := runner{Harness: newStore(t)}
	opened := defaults("open")
	before := r.run(opened)

	m, i := speaker("0a")
	join := coordination.Join{Member: m, Instance: i, Seen: coordination.Unseen()}
	down := coordination.Down{Member: m, Instance: i, ExitCode: 1, Seen: coordination.Unseen()}
	joining := func(change func(*coordination.Join)) func() error {
		j := join
		change(&j)
		return func() error { _, err := r.Store.Join(ctx, group, j); return err }
	}
	dying := func(change func(*coordination.Down)) func() error {
		d := down
		change(&d)
		return func() error { _, err := r.Store.Down(ctx, group, d); return err }
	}
	opening := func(change func(*coordination.Open)) func() error {
		o := opened.Open
		o.Limit = 77
		o.Stages = slices.Clone(o.Stages)
		change(&o)
		return func() error { _, err := r.Store.Open(ctx, group, o); return err }
	}
	asking := func(kind string) func() error {
		return func() error { _, err := r.Store.Ask(ctx, group, m, kind); return err }
	}
	recreating := func(token coordination.Token, kind string) func() error {
		return func() error { _, err := r.Store.Recreate(ctx, group, token, 1, 0, kind); return err }
	}
	evicting := func(token coordination.Token, pod string) func() error {
		return func() error { _, err := r.Store.Evict(ctx, group, token, m.Slot, pod); return err }
	}
	future := m
	future.PodBorn = time.Now().Add(farAhead).UnixMicro()
	const tooMuch = coordination.MaxCount + 1
	cases := map[string]struct {
		call func() error
		want string
	}{
		"an instance before it that dies in future": {joining(func(j *coordination.Join) { j.GoneFor = -1 }), "foreign"},
		"no pod":                            {joining(func(j *coordination.Join) { j.Pod = "" }), "foreign"},
		"a blank in a pod":                  {joining(func(j *coordination.Join) { j.Pod = "a b" }), "foreign"},
		"a line break in a pod":             {joining(func(j *coordination.Join) { j.Pod = "a\nb" }), "foreign"},
		"a NUL in a pod":                    {joining(func(j *coordination.Join) { j.Pod = "a\x00b" }), "foreign"},
		"a pod that is too long":            {joining(func(j *coordination.Join) { j.Pod = strings.Repeat("p", 513) }), "foreign"},
		"a blank in an instance":            {joining(func(j *coordination.Join) { j.ID = "a b" }), "foreign"},
		"a DEL in an instance":              {joining(func(j *coordination.Join) { j.ID = "a\x7f" }), "foreign"},
		"a negative birth":                  {joining(func(j *coordination.Join) { j.Born = -1 }), "foreign"},
		"a birth beyond all counts":         {joining(func(j *coordination.Join) { j.Born = tooMuch }), "foreign"},
		"a negative birth of a pod":         {joining(func(j *coordination.Join) { j.PodBorn = -1 }), "foreign"},
		"a pod from the end of time":        {joining(func(j *coordination.Join) { j.PodBorn = math.MaxInt64 }), "foreign"},
		"a negative epoch":                  {joining(func(j *coordination.Join) { j.Seen.Epoch = -1 }), "foreign"},
		"an epoch beyond all counts":        {joining(func(j *coordination.Join) { j.Seen.Epoch = tooMuch }), "foreign"},
		"a round below none":                {joining(func(j *coordination.Join) { j.Seen.Round = -2 }), "foreign"},
		"the lowest round":                  {joining(func(j *coordination.Join) { j.Seen.Round = math.MinInt64 }), "foreign"},
		"the highest round":                 {joining(func(j *coordination.Join) { j.Seen.Round = math.MaxInt64 }), "foreign"},
		"a round beyond the budget":         {joining(func(j *coordination.Join) { j.Seen.Epoch, j.Seen.Round = 1, 6 }), "foreign"},
		"negative instances":                {joining(func(j *coordination.Join) { j.Seen.Instances = -1 }), "foreign"},
		"a slot without indexes":            {joining(func(j *coordination.Join) { j.Slot = "js-w" }), "unknownslot"},
		"a slot with a leading zero":        {joining(func(j *coordination.Join) { j.Slot = "js-w-0-00" }), "unknownslot"},
		"a slot of another group":           {joining(func(j *coordination.Join) { j.Slot = "other-w-0-0" }), "unknownslot"},
		"a slot beyond the last job":        {joining(func(j *coordination.Join) { j.Slot = "js-w-1-0" }), "unknownslot"},
		"a slot with a huge index":          {joining(func(j *coordination.Join) { j.Slot = "js-w-0-99999999999999999999999" }), "unknownslot"},
		"a slot with a blank":               {joining(func(j *coordination.Join) { j.Slot = "js-w-0-0 " }), "unknownslot"},
		"an empty slot":                     {joining(func(j *coordination.Join) { j.Slot = "" }), "unknownslot"},
		"an exit code beyond 32 bits":       {dying(func(d *coordination.Down) { d.ExitCode = math.MaxInt32 + 1 }), "foreign"},
		"an exit code below 32 bits":        {dying(func(d *coordination.Down) { d.ExitCode = math.MinInt32 - 1 }), "foreign"},
		"a negative time of failure":        {dying(func(d *coordination.Down) { d.FailedAt = -1 }), "foreign"},
		"a detection beyond all counts":     {dying(func(d *coordination.Down) { d.DetectedAt = tooMuch }), "foreign"},
		"a pod that is born in two days":    {joining(func(j *coordination.Join) { j.PodBorn = time.Now().Add(farAhead).UnixMicro() }), "foreign"},
		"an instance of the day after":      {joining(func(j *coordination.Join) { j.Born = time.Now().Add(farAhead).UnixMicro() }), "foreign"},
		"a run of more than all time":       {joining(func(j *coordination.Join) { j.RunsFor = 2 * time.Now().UnixMilli() }), "foreign"},
		"a failure in two days":             {dying(func(d *coordination.Down) { d.FailedAt = time.Now().Add(farAhead).UnixMilli() }), "foreign"},
		"a detection in two days":           {dying(func(d *coordination.Down) { d.DetectedAt = time.Now().Add(farAhead).UnixMilli() }), "foreign"},
		"a request of a pod of the future":  {func() error { _, err := r.Store.Ask(ctx, group, future, "gap"); return err }, "foreign"},
		"a death of an unknown slot":        {dying(func(d *coordination.Down) { d.Slot = "js-w-0-3" }), "unknownslot"},
		"a request without a reason":        {asking(""), "foreign"},
		"a blank in a reason":               {asking("a b"), "foreign"},
		"a reason that is too long":         {asking(strings.Repeat("a", 33)), "foreign"},
		"a reason that no label can be":     {asking("gap\"}"), "foreign"},
		"a reason of strange letters":       {asking("écart"), "foreign"},
		"a slot that is too long":           {joining(func(j *coordination.Join) { j.Slot = "js-w-0-" + strings.Repeat("0", 1<<20) }), "unknownslot"},
		"an instance that is too long":      {joining(func(j *coordination.Join) { j.ID = strings.Repeat("i", 1<<20) }), "foreign"},
		"a recreation without a reason":     {recreating(opened.Open.Token, ""), "error"},
		"a blank in a recreation's reason":  {recreating(opened.Open.Token, "a b"), "error"},
		"an eviction without a pod":         {evicting(opened.Open.Token, ""), "error"},
		"a blank in an evicted pod":         {evicting(opened.Open.Token, "a b"), "error"},
		"an eviction by no token":           {evicting(coordination.Token{LeaseCreated: tooMuch}, "p"), "error"},
		"a token beyond all counts":         {recreating(coordination.Token{LeaseCreated: tooMuch}, "gap"), "error"},
		"epoch 0":                           {opening(func(o *coordination.Open) { o.Epoch = 0 }), "error"},
		"an epoch to open beyond counts":    {opening(func(o *coordination.Open) { o.Epoch = tooMuch }), "error"},
		"a negative limit":                  {opening(func(o *coordination.Open) { o.Limit = -1 }), "error"},
		"a limit beyond all counts":         {opening(func(o *coordination.Open) { o.Limit = math.MaxInt64 }), "error"},
		"no stages":                         {opening(func(o *coordination.Open) { o.Stages = nil }), "error"},
		"no slots":                          {opening(func(o *coordination.Open) { o.Stages = stage("js-w", 1, 0) }), "error"},
		"a negative number of jobs":         {opening(func(o *coordination.Open) { o.Stages = stage("js-w", -1, -1) }), "error"},
		"a stage that is too large":         {opening(func(o *coordination.Open) { o.Stages = stage("js-w", 1, 1<<20+1) }), "error"},
		"stages that are too large":         {opening(func(o *coordination.Open) { o.Stages = stage("js-w", 1<<11, 1<<10) }), "error"},
		"too many stages":                   {opening(func(o *coordination.Open) { o.Stages = slices.Repeat(stage("js-w", 1, 1), 1025) }), "error"},
		"stages with names without end":     {opening(func(o *coordination.Open) { o.Stages = slices.Repeat(stage(strings.Repeat("n", 500), 1, 1), 600) }), "error"},
		"a stage without a name":            {opening(func(o *coordination.Open) { o.Stages = stage("", 1, 1) }), "error"},
		"a stage with a blank in its name":  {opening(func(o *coordination.Open) { o.Stages = stage("a b", 1, 1) }), "error"},
		"a negative step":                   {opening(func(o *coordination.Open) { o.Stages[0].Step = -1 }), "error"},
		"a step that is too high":           {opening(func(o *coordination.Open) { o.Stages[0].Step = 256 }), "error"},
		"an unknown release":                {opening(func(o *coordination.Open) { o.Stages[0].Release = "held" }), "error"},
		"a blank in an incarnation":         {opening(func(o *coordination.Open) { o.Incarnation = "a b" }), "error"},
		"a leader's token that is negative": {opening(func(o *coordination.Open) { o.Token.Transitions = -1 }), "error"},
		"a reset to nothing":                {opening(func(o *coordination.Open) { o.Reset, o.Incarnation, o.Stages = true, "B", nil }), "error"},
		"a reset without an incarnation":    {opening(func(o *coordination.Open) { o.Reset, o.Incarnation = true, "" }), "error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := errorKind(tc.call()); got != tc.want {
				t.Errorf("error %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(before, r.run(Step{Verb: "save"})); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
		})
	}
}

func stage(prefix string, jobs, pods int64) []coordination.Stage {
	return []coordination.Stage{{Prefix: prefix, Jobs: jobs, Pods: pods}}
}

// testClocks: nodes whose clocks are off by hours, or were never set, are heard.
func testClocks(t *testing.T, newStore func(t *testing.T) Harness) {
	for name, at := range map[string]time.Time{
		"hours ahead":        time.Now().Add(23 * time.Hour),
		"years behind":       time.Now().Add(-10 * 365 * 24 * time.Hour),
		"of a new mainboard": time.UnixMilli(1),
	} {
		t.Run(name, func(t *testing.T) {
			r := runner{Harness: newStore(t)}
			r.run(defaults("open"))
			m, i := speaker("0a")
			m.PodBorn, i.Born = at.UnixMicro(), at.UnixMicro()
			join := coordination.Join{Member: m, Instance: i, Seen: coordination.Unseen()}
			if _, err := r.Store.Join(t.Context(), group, join); err != nil {
				t.Error(err)
			}
			down := coordination.Down{
				Member: m, Instance: i, ExitCode: 1, FailedAt: at.UnixMilli(), DetectedAt: at.UnixMilli(), Seen: coordination.Unseen(),
			}
			if _, err := r.Store.Down(t.Context(), group, down); err != nil {
				t.Error(err)
			}
		})
	}
}
