package memory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAnnotationsMatchDesignDocument(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := Memory{Times: 2, Entries: []Entry{{Node: "node2", Expires: noon.Add(time.Hour)}, {Node: "node1", Expires: noon.Add(time.Minute)}}}
	if got, want := m.Annotations(noon)[WorkloadAnnotation], `{"currentReschedulingTimes":2,"deployScheduledHosts":["node1","node2"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := m.PodAnnotations(noon)[PodAnnotation], `{"currentReschedulingTimes":2,"podScheduledHosts":["node1","node2"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := (Memory{}).Annotations(noon)[WorkloadAnnotation], `{"currentReschedulingTimes":0,"deployScheduledHosts":[]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadWorkloadAnnotation(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		times int
		nodes []string
	}{
		"both fields":     {`{"currentReschedulingTimes":2,"deployScheduledHosts":["b","a"]}`, 2, []string{"a", "b"}},
		"missing fields":  {`{}`, 0, nil},
		"null list":       {`{"currentReschedulingTimes":3,"deployScheduledHosts":null}`, 3, nil},
		"null":            {`null`, 0, nil},
		"a count below 0": {`{"currentReschedulingTimes":-4}`, 0, nil},
		"unknown fields":  {`{"currentReschedulingTimes":1,"rsScheduledHosts":["a"]}`, 1, nil},
		"an empty list":   {`{"deployScheduledHosts":[]}`, 0, nil},
		"duplicate host":  {`{"deployScheduledHosts":["a","a"]}`, 0, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(map[string]string{WorkloadAnnotation: c.value})
			if diff := cmp.Diff(c.nodes, got.Exclusions(MaxHosts, "", time.Now(), nil)); diff != "" || got.Times != c.times {
				t.Error(got.Times, diff)
			}
		})
	}
}

func TestMovesOfPodAreInItsOwnAnnotation(t *testing.T) {
	got := ReadPod(map[string]string{
		PodAnnotation: `{"currentReschedulingTimes":2,"podScheduledHosts":["b","a"]}`, WorkloadAnnotation: `{"currentReschedulingTimes":5}`,
	})
	if got.Times != 2 {
		t.Errorf("got %d moves", got.Times)
	}
}

func TestInvalidInfoIsIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":                   `{`,
		"an array":                  `["a"]`,
		"count as a string":         `{"currentReschedulingTimes":"2"}`,
		"valid count, invalid list": `{"currentReschedulingTimes":2,"deployScheduledHosts":3,"podScheduledHosts":3}`,
		"count out of range":        `{"currentReschedulingTimes":1` + strings.Repeat("0", 400) + `}`,
		"value above the limit":     `{"deployScheduledHosts":["` + strings.Repeat("a", MaxHostsBytes) + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadPod(map[string]string{WorkloadAnnotation: value, PodAnnotation: value}); !got.Empty() {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        int
		asked, bad  bool
	}{
		"no annotation":        {nil, 0, false, false},
		"three":                {map[string]string{RetriesAnnotation: "3"}, 3, true, false},
		"surrounding spaces":   {map[string]string{RetriesAnnotation: " 3 "}, 3, true, false},
		"none":                 {map[string]string{RetriesAnnotation: "0"}, 0, true, false},
		"more than MaxRetries": {map[string]string{RetriesAnnotation: "999999999"}, MaxRetries, true, false},
		"below 0":              {map[string]string{RetriesAnnotation: "-1"}, 0, false, true},
		"a word":               {map[string]string{RetriesAnnotation: "three"}, 0, false, true},
		"empty":                {map[string]string{RetriesAnnotation: ""}, 0, false, true},
		"a fraction":           {map[string]string{RetriesAnnotation: "1.5"}, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked, err := Retries(c.annotations)
			if got != c.want || asked != c.asked || (err != nil) != c.bad {
				t.Errorf("got %d, %t, %v", got, asked, err)
			}
		})
	}
}
