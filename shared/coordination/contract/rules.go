package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rules are scripts by subject, see Step. What is expected after a line: Phase(round) joined/size, !error, and facts (see facts).
// An error that is not expected fails the test.
var rules = []map[string]string{roundRules, podRules, epochRules, stepRules, lostDataRules}

func testRules(t *testing.T, newStore func(t *testing.T) Harness) {
	for _, subject := range rules {
		for name, script := range subject {
			t.Run(name, func(t *testing.T) { runScript(t, newStore(t), script) })
		}
	}
}

func runScript(t *testing.T, h Harness, script string) {
	t.Helper()
	r := runner{Harness: h}
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		line = strings.TrimSpace(line)
		steps, want, err := parseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, s := range steps {
			got = facts(r.run(s))
			if failed := failures(got, want); len(failed) > 0 && i < len(steps)-1 {
				t.Fatalf("%s\nfails before its last step: %v", line, failed)
			}
		}
		if missing := missingFrom(got, want); len(missing) > 0 {
			t.Fatalf("%s\nis not so: %v\nbut: %v", line, missing, got)
		}
	}
}

// missingFrom returns what is wanted and not there. An error has to be wanted.
func missingFrom(got, want []string) []string {
	var missing []string
	for _, w := range want {
		if !slices.Contains(got, w) {
			missing = append(missing, w)
		}
	}
	return append(missing, failures(got, want)...)
}

// failures are the errors that nobody wanted.
func failures(got, want []string) []string {
	var failed []string
	for _, g := range got {
		if strings.HasPrefix(g, "!") && !slices.Contains(want, g) {
			failed = append(failed, "no "+g)
		}
	}
	return failed
}

// facts are what a script can expect after a step.
func facts(o Outcome) []string {
	var f []string
	if o.Err != "" {
		f = append(f, "!"+o.Err)
	}
	if !o.Exists {
		return append(f, "none")
	}
	s, rec := o.Summary, o.Summary.Record
	dirty := map[bool]string{true: "dirty", false: "clean"}[s.Dirty]
	return append(f, dirty, "missing="+strings.ReplaceAll(strings.Join(o.Missing, ","), prefix, ""),
		fmt.Sprintf("%s(%d)", s.Phase, s.Round), fmt.Sprintf("%d/%d", s.Joined, s.Size),
		fmt.Sprint("epoch=", s.Epoch), fmt.Sprint("gen=", s.Generation), fmt.Sprint("seq=", s.Seq), "inc="+s.Incarnation,
		fmt.Sprint("done=", s.Done), fmt.Sprint("limit=", s.Limit), "token="+tokenText(s.Token),
		fmt.Sprint("reply=", o.Reply.Round), fmt.Sprint("newest=", o.Reply.Newest), "steps="+s.Level.Steps, map[bool]string{true: "released", false: "kept"}[o.Reply.Released], fmt.Sprint("history=", len(o.History)),
		fmt.Sprintf("cause=%s/%s/%d", rec.Cause.Kind, rec.Cause.Slot, rec.Cause.ExitCode),
		fmt.Sprintf("on=%s/%s", strings.TrimPrefix(rec.Cause.PodName, prefix), rec.Cause.Node), fmt.Sprintf("how=%d/%s", rec.Cause.Signal, rec.Cause.Reason),
		fmt.Sprint("starts=", rec.Starts), fmt.Sprint("downs=", rec.Downs), fmt.Sprint("ups=", rec.Ups), fmt.Sprint("coalesced=", rec.Coalesced),
	)
}
