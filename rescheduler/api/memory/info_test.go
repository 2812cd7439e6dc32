package memory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorkloadAnnotationMatchesDesignDocument(t *testing.T) {
	got := WorkloadInfo{2, []string{"node2", "node1"}}.Format()
	if want := `{"currentReschedulingTimes":2,"deployScheduledHosts":["node1","node2"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPodAnnotationMatchesDesignDocument(t *testing.T) {
	got := PodInfo{1, []string{"node1"}}.Format()
	if want := `{"currentReschedulingTimes":1,"podScheduledHosts":["node1"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseWorkloadInfo(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  WorkloadInfo
	}{
		"both fields":                   {`{"currentReschedulingTimes":2,"deployScheduledHosts":["b","a"]}`, WorkloadInfo{2, []string{"a", "b"}}},
		"fields that are missing":       {`{}`, WorkloadInfo{0, []string{}}},
		"a list that is null":           {`{"currentReschedulingTimes":3,"deployScheduledHosts":null}`, WorkloadInfo{3, []string{}}},
		"null":                          {`null`, WorkloadInfo{0, []string{}}},
		"a count below 0":               {`{"currentReschedulingTimes":-4}`, WorkloadInfo{0, []string{}}},
		"fields of somebody else's":     {`{"currentReschedulingTimes":1,"rsScheduledHosts":["a"]}`, WorkloadInfo{1, []string{}}},
		"an empty list":                 {`{"deployScheduledHosts":[]}`, WorkloadInfo{0, []string{}}},
		"a list that names a host anew": {`{"deployScheduledHosts":["a","a"]}`, WorkloadInfo{0, []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseWorkloadInfo(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsePodInfo(t *testing.T) {
	got, err := ParsePodInfo(`{"currentReschedulingTimes":2,"podScheduledHosts":["b","a"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(PodInfo{2, []string{"a", "b"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidInfoIsAnError(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":                             `{`,
		"an array":                            `["a"]`,
		"a text count":                        `{"currentReschedulingTimes":"2"}`,
		"a count of 1e9 digits would not fit": `{"currentReschedulingTimes":1` + strings.Repeat("0", 400) + `}`,
		"more than its bound":                 `{"deployScheduledHosts":["` + strings.Repeat("a", MaxHostsBytes) + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseWorkloadInfo(value); err == nil {
				t.Errorf("read as %+v", got)
			}
			if got, err := ParsePodInfo(value); err == nil {
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
		"nothing said":           {nil, 0, false, false},
		"three":                  {map[string]string{RetriesAnnotation: "3"}, 3, true, false},
		"blanks around it":       {map[string]string{RetriesAnnotation: " 3 "}, 3, true, false},
		"none":                   {map[string]string{RetriesAnnotation: "0"}, 0, true, false},
		"more than anybody does": {map[string]string{RetriesAnnotation: "999999999"}, MaxRetries, true, false},
		"below 0":                {map[string]string{RetriesAnnotation: "-1"}, 0, false, true},
		"a word":                 {map[string]string{RetriesAnnotation: "three"}, 0, false, true},
		"empty":                  {map[string]string{RetriesAnnotation: ""}, 0, false, true},
		"a fraction":             {map[string]string{RetriesAnnotation: "1.5"}, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked, err := Retries(c.annotations)
			if got != c.want || asked != c.asked || (err != nil) != c.bad {
				t.Errorf("got %d, %t, %v", got, asked, err)
			}
		})
	}
}

func TestWorkloadHasAsManyMovesAsRetries(t *testing.T) {
	const retries = 3
	for name, c := range map[string]struct {
		times, want int
		exhausted   bool
	}{
		"the first":                   {0, 1, false},
		"the second":                  {1, 2, false},
		"the last":                    {retries - 1, retries, false},
		"one more than that":          {retries, retries + 1, true},
		"after somebody raised it":    {retries + 1, retries + 2, true},
		"a count that makes no sense": {-7, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if next, exhausted := Next(c.times, retries); next != c.want || exhausted != c.exhausted {
				t.Errorf("got %d, %t", next, exhausted)
			}
		})
	}
	if _, exhausted := Next(0, 0); !exhausted {
		t.Error("a workload with no retries is moved")
	}
}
