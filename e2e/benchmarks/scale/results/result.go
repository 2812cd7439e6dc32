package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scenarios.
const (
	Failure = "failure" // a worker's process is killed
	Pod     = "pod"     // a worker's pod is deleted
	Ten     = "ten"     // the processes of ten workers are killed at once
	Rack    = "rack"    // a hundred pods are deleted at once
	// The same with kube-controller-manager at the lowest priority. After each loss it processes all pods of the JobSet.
	PodAlone, RackAlone = "pod-alone", "rack-alone"
	Repeat              = "repeat" // repeated failures within ten minutes
	Steady              = "steady" // no failures
	Many                = "many"   // many JobSets, with a failure every second in one of them
)

// Ways to recover from a failure.
const (
	Recreate  = "Recreate"
	Blocking  = "BlockingRecreate"
	Published = "Recreate, upstream JobSet" // by the published manager instead of ours
	Upstream  = "in place, upstream JobSet" // the published manager's restartStrategy InPlaceRestart
	CRI       = "in place, CRI driver"
	Exec      = "in place, exec driver"
	Spares    = "in place, exec driver, spares" // without exclusive placement, which spares do not support
)

// Key identifies what was measured. A later result with the same key replaces the earlier one.
type Key struct {
	Scenario string `json:"scenario"`
	Way      string `json:"way"`
	Workers  int    `json:"workers"` // total
	JobSets  int    `json:"jobSets"`
	Kubelet  string `json:"kubelet"`           // setting of its back-off
	Variant  string `json:"variant,omitempty"` // of the scenario
}

// Result is one scenario with one way to recover.
type Result struct {
	Key
	At      time.Time `json:"at"`
	Machine Machine   `json:"machine"`
	Runs    []Run     `json:"runs"`
	// Skipped is the number of failures that a scenario with a fixed pace left out, because no group was ready for one.
	Skipped int `json:"skipped,omitempty"`
	// Earlier is the number of runs at the start of Runs that come from earlier invocations.
	Earlier int `json:"earlierRuns,omitempty"`
}

// upstream reports whether the upstream JobSet controller took part instead of our manager.
func (r Result) upstream() bool { return r.Way == Published || r.Way == Upstream }

// Machine describes the machine of the measurement, and its load.
type Machine struct {
	Processor string            `json:"processor"`
	Cores     int               `json:"cores"`
	MemoryGiB float64           `json:"memoryGiB"`
	Kernel    string            `json:"kernel"`
	Versions  map[string]string `json:"versions"`
	// Waiting is the load average of the minute before the measurement.
	Waiting float64 `json:"loadBefore"`
}

// JobSet is the upstream JobSet controller's key in Versions. The key is present only if that controller took part.
const JobSet = "upstream JobSet"

// With returns a copy of the machine with one more program version.
func (m Machine) With(program, version string) Machine {
	versions := map[string]string{program: version}
	maps.Copy(versions, m.Versions)
	m.Versions = versions
	return m
}

// Run is one failure and the recovery from it, or one window of time.
type Run struct {
	// Seconds is the time from the failure until the last worker's program runs, or the length of the window.
	Seconds float64 `json:"seconds"`
	Phases  []Phase `json:"phases,omitempty"`
	// Outages holds the length of each outage in a window, in seconds.
	Outages []float64 `json:"outages,omitempty"`
	Usage   Usage     `json:"usage"`
}

// Phase records when a phase of a run ended, in seconds from the failure.
type Phase struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
}

// Usage is what a run used, from the failure until a little after its end.
type Usage struct {
	Seconds float64 `json:"seconds"`
	// Calls counts the programs' calls to the API server. "all" is the number of calls that it answered, except for watches.
	Calls      map[string]float64 `json:"apiCalls"`
	EtcdWrites float64            `json:"etcdWrites"`
	// Store counts the calls to the store from outside, by command.
	Store map[string]float64 `json:"storeCalls"`
	// Inside is the number of all executed commands, including those executed by functions.
	Inside    float64            `json:"storeCommands"`
	CPU       map[string]float64 `json:"cpuSeconds"`
	MemoryMiB map[string]float64 `json:"peakMiB"`
	// StoreMiB is the memory that the store uses for data, buffers and connections.
	StoreMiB         float64 `json:"storeMiB"`
	StoreConnections float64 `json:"storeConnections"`
}

// Load reads results. A missing file means no results.
func Load(file string) ([]Result, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Result
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return all, nil
}

// Save writes a summary of results: one result per line, with numbers rounded to what the page can show.
func Save(file string, all []Result) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	lines := make([]string, len(all))
	for i, r := range all {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			return err
		}
		line, err := json.Marshal(rounded(decoded))
		if err != nil {
			return err
		}
		lines[i] = string(line)
	}
	return os.WriteFile(file, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644)
}

// digits is the number of significant digits in a summary.
const digits = 5

// rounded rounds every number in a decoded JSON value.
func rounded(value any) any {
	switch v := value.(type) {
	case float64:
		if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64); err == nil && v != math.Trunc(v) {
			return short
		}
	case []any:
		for i := range v {
			v[i] = rounded(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = rounded(v[key])
		}
	}
	return value
}

// Merge replaces the result with the same key, or appends a new one.
func Merge(all []Result, one Result) []Result {
	if i := slices.IndexFunc(all, func(r Result) bool { return r.Key == one.Key }); i >= 0 {
		all[i] = one
		return all
	}
	return append(all, one)
}

// Add appends the runs of a result to those with the same key.
func Add(all []Result, one Result) []Result {
	if i := slices.IndexFunc(all, func(r Result) bool { return r.Key == one.Key }); i >= 0 {
		one.Earlier = len(all[i].Runs)
		one.Runs = slices.Concat(all[i].Runs, one.Runs)
	}
	return Merge(all, one)
}

// Names of phases.
const (
	Detected  = "detected"          // the failed worker's agent has detected the failure
	Ordered   = "ordered"           // the store has recorded the failure, and has published the order in the same step
	OrderP50  = "order at half"     // of the agents that must restart their workers
	OrderP99  = "order at 99 %"     // likewise
	OrderLast = "order at all"      // likewise
	AllDown   = "all down"          // the agent of the last worker of the old round has detected that this worker has ended
	Evidence  = "pod ended"         // the API server shows that no part of a deleted pod is running, so its slot may be given away
	InSync    = "in sync"           // the last worker has joined
	Decided   = "restart decided"   // the JobSet's status counts the restart
	FirstUp   = "first new pod"     // a worker of the next attempt runs
	OldGone   = "last old pod gone" // its containers have ended
	AllUp     = "all run"           // the last worker's program runs
)

// Variants of Repeat.
const (
	OthersFail = "another worker each time"
	SameFails  = "the same worker each time"
)
