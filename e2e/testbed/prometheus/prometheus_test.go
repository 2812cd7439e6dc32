package prometheus

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTargetsFile(t *testing.T) {
	got, err := TargetsFile([]Target{
		{Job: "manager", Addresses: []string{"127.0.0.1:8080"}},
		{Job: "api", Addresses: []string{"10.87.0.1:6443"}, HTTPS: true, Path: "/m", Period: 5 * time.Second, Labels: map[string]string{"a": "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	var groups []group
	if err := json.Unmarshal([]byte(got), &groups); err != nil {
		t.Fatal(err)
	}
	want := []group{
		{Targets: []string{"127.0.0.1:8080"}, Labels: map[string]string{"job": "manager"}},
		{Targets: []string{"10.87.0.1:6443"}, Labels: map[string]string{
			"job": "api", "__scheme__": "https", "__metrics_path__": "/m", "a": "b", "__scrape_interval__": "5s", "__scrape_timeout__": "5s",
		}},
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if none, err := TargetsFile(nil); err != nil || none != "[]" {
		t.Errorf("no targets produce %q (%v)", none, err)
	}
}

func TestQuery(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   []Sample
		err    string
	}{
		"a vector": {
			answer: `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"a"},"value":[1.5,"2"]}]}}`,
			want:   []Sample{{Labels: map[string]string{"job": "a"}, Value: 2}},
		},
		"an infinite value": {
			answer: `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"+Inf"]}]}}`,
			want:   []Sample{{Labels: map[string]string{}, Value: math.Inf(1)}},
		},
		"nothing":         {answer: `{"status":"success","data":{"resultType":"vector","result":[]}}`},
		"a scalar":        {answer: `{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}`, want: []Sample{{Value: 3}}},
		"a range":         {answer: `{"status":"success","data":{"resultType":"matrix","result":[]}}`, err: "matrix"},
		"a refusal":       {answer: `{"status":"error","error":"parse error at 1"}`, err: "parse error at 1"},
		"no JSON":         {answer: `gone`, err: "reading"},
		"a point of one":  {answer: `{"status":"success","data":{"resultType":"scalar","result":[1]}}`, err: "not a sample"},
		"a value of text": {answer: `{"status":"success","data":{"resultType":"scalar","result":[1,"x"]}}`, err: "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Query().Get("query")
				_, _ = w.Write([]byte(test.answer))
			}))
			defer server.Close()
			got, err := Server{URL: server.URL}.Query(t.Context(), `up{job="a"} + 1`)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want an error about %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
			if asked != `up{job="a"} + 1` {
				t.Errorf("asked for %q", asked)
			}
		})
	}
}
