package settings

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

func parse(t *testing.T, file string) (Rescheduling, error) {
	t.Helper()
	r := Default()
	return r, json.Unmarshal([]byte(file), &r)
}

func TestDefaultsAreValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// Each row of the catalogue can be changed.
func TestEverySignalCanBeChanged(t *testing.T) {
	for _, row := range signals.Default() {
		r, err := parse(t, `{"signals":{"`+row.Name+`":{"trigger":"Off","action":"Record","after":"7s","ttl":"8s","restarts":9,"exitCodes":[10]}}}`)
		if err == nil {
			err = r.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		table := r.Table()
		i := slices.IndexFunc(table, func(other signals.Row) bool { return other.Name == row.Name })
		got := table[i]
		if got.Trigger != signals.Off || got.Action != signals.Record || got.After != 7*time.Second || got.TTL != 8*time.Second ||
			got.Restarts != 9 || got.ExitCodes[0] != 10 {
			t.Errorf("%s became %+v", row.Name, got)
		}
		for j := range table {
			if j != i && table[j].TTL != signals.Default()[j].TTL {
				t.Errorf("%s changed %s", row.Name, table[j].Name)
			}
		}
	}
}

func TestErrorsNameInvalidSettings(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"a row that does not exist":     {`{"signals":{"OOM":{}}}`, "signals.OOM: unknown signal; known signals are [DeadlineExceeded"},
		"a trigger that does not exist": {`{"signals":{"OOMKilled":{"trigger":"On"}}}`, "signals.OOMKilled.trigger"},
		"an action that does not exist": {`{"signals":{"OOMKilled":{"action":"Kill"}}}`, "signals.OOMKilled.action"},
		"a time below 0":                {`{"signals":{"OOMKilled":{"ttl":"-1s"}}}`, "below the minimum"},
		"a row that avoids no node":     {`{"signals":{"OOMKilled":{"ttl":"0s"}}}`, "signals.OOMKilled.ttl: it is not above 0"},
		"a move without a time":         {`{"signals":{"ConfigError":{"action":"Move"}}}`, "signals.ConfigError.ttl: it is not above 0"},
		"a count below 0":               {`{"signals":{"OOMKilled":{"restarts":-1}}}`, "signals.OOMKilled.restarts: -1 is below 0"},
		"retries below 0":               {`{"defaultRetries":-1}`, "defaultRetries: -1 is below 0"},
		"a period below 0":              {`{"gangSettle":"-1s"}`, "below the minimum"},
		"an enforcement of no kind":     {`{"enforcement":{"otherwise":"Taint"}}`, `enforcement.otherwise: "Taint" is neither`},
		"a limit that never fills":      {`{"limits":{"node":{"burst":1,"every":"0s"}}}`, "limits.node: burst 1 and every 0s"},
		"a breaker without a window":    {`{"breaker":{"moves":1,"window":"0s"}}`, "breaker: moves, window and pause"},
		"taints without a threshold":    {`{"blame":{"taint":true,"threshold":0}}`, "blame.threshold"},
		"taints on all nodes":           {`{"blame":{"taint":true,"maxShare":100}}`, "blame.maxShare: 100 is not from 1 to 50"},
		"taints for ever":               {`{"blame":{"taint":true,"ttl":"0s"}}`, "blame.ttl"},
		"taints on no node":             {`{"blame":{"taint":true,"maxNodes":0}}`, "blame.maxNodes"},
		"taints at nobody's word":       {`{"blame":{"taint":true,"minPods":0}}`, "blame.minPods"},
		"taints at one workload's word": {`{"blame":{"taint":true,"minWorkloads":1}}`, "blame.minWorkloads"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := parse(t, c.file)
			if err == nil {
				err = r.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	for raw, want := range map[string]time.Duration{`"5m"`: 5 * time.Minute, `"0s"`: 0, `0`: 0} {
		var d Duration
		if err := json.Unmarshal([]byte(raw), &d); err != nil || time.Duration(d) != want {
			t.Errorf("%s is %s (%v)", raw, time.Duration(d), err)
		}
	}
	for _, raw := range []string{`5`, `""`, `"soon"`, `true`} {
		var d Duration
		if err := json.Unmarshal([]byte(raw), &d); err == nil {
			t.Errorf("%s is %s", raw, time.Duration(d))
		}
	}
}

func TestModeDependsOnScheduler(t *testing.T) {
	e := Default().Enforcement
	if got := e.Mode("holdfast-scheduler"); got != Plugin {
		t.Errorf("got %s", got)
	}
	if got := e.Mode("default-scheduler"); got != Required {
		t.Errorf("got %s", got)
	}
}
