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
			t.Errorf("%s is %+v", row.Name, got)
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
		"unknown signal":                          {`{"signals":{"OOM":{}}}`, "signals.OOM: unknown signal; known signals are [DeadlineExceeded"},
		"unknown trigger":                         {`{"signals":{"OOMKilled":{"trigger":"On"}}}`, "signals.OOMKilled.trigger"},
		"unknown action":                          {`{"signals":{"OOMKilled":{"action":"Kill"}}}`, "signals.OOMKilled.action"},
		"negative delay":                          {`{"signals":{"OOMKilled":{"after":"-1s"}}}`, "signals.OOMKilled.after: -1s is below 0"},
		"negative exclusion":                      {`{"signals":{"OOMKilled":{"ttl":"-1s"}}}`, "signals.OOMKilled.ttl: must be greater than 0"},
		"number instead of a duration":            {`{"relaxAfter":5}`, "cannot unmarshal number"},
		"signal without an exclusion":             {`{"signals":{"OOMKilled":{"ttl":"0s"}}}`, "signals.OOMKilled.ttl: must be greater than 0"},
		"move without an exclusion":               {`{"signals":{"ConfigError":{"action":"Move"}}}`, "signals.ConfigError.ttl: must be greater than 0"},
		"negative count":                          {`{"signals":{"OOMKilled":{"restarts":-1}}}`, "signals.OOMKilled.restarts: -1 is below 0"},
		"negative retries":                        {`{"defaultRetries":-1}`, "defaultRetries: -1 is below 0"},
		"negative period":                         {`{"groupSettle":"-1s"}`, "groupSettle, stabilization and relaxAfter must not be below 0"},
		"unknown mode":                            {`{"enforcement":{"otherwise":"Taint"}}`, `enforcement.otherwise: "Taint" is neither`},
		"limit without a period":                  {`{"limits":{"node":{"burst":1,"every":"0s"}}}`, "limits.node: burst 1 and every 0s"},
		"circuit breaker without a window":        {`{"breaker":{"moves":1,"window":"0s"}}`, "breaker: moves, window and pause"},
		"taints without a threshold":              {`{"blame":{"taint":true,"threshold":0}}`, "blame.threshold"},
		"taints on all nodes":                     {`{"blame":{"taint":true,"maxShare":100}}`, "blame.maxShare: 100 is not between 1 and 50"},
		"taints without an expiry":                {`{"blame":{"taint":true,"ttl":"0s"}}`, "blame.ttl"},
		"taints on zero nodes":                    {`{"blame":{"taint":true,"maxNodes":0}}`, "blame.maxNodes"},
		"taints without complaints":               {`{"blame":{"taint":true,"minPods":0}}`, "blame.minPods"},
		"taints after complaints of one workload": {`{"blame":{"taint":true,"minWorkloads":1}}`, "blame.minWorkloads"},
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

func TestModeDependsOnScheduler(t *testing.T) {
	e := Default().Enforcement
	if got := e.Mode("holdfast-scheduler"); got != Plugin {
		t.Errorf("got %s", got)
	}
	if got := e.Mode("default-scheduler"); got != Required {
		t.Errorf("got %s", got)
	}
}
