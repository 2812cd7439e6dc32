package prometheus

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRange(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("start") + " " + r.URL.Query().Get("end") + " " + r.URL.Query().Get("step")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[10,"1"],[15,"2.5"]]}]}}`))
	}))
	defer server.Close()
	got, err := Server{URL: server.URL}.Range(t.Context(), "up", time.Unix(10, 0), time.Unix(15, 0), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := []Track{{map[string]string{"a": "b"}, []Point{{time.Unix(10, 0).UTC(), 1}, {time.Unix(15, 0).UTC(), 2.5}}}}
	if diff := cmp.Diff(want, got); diff != "" || asked != "10 15 5" {
		t.Errorf("asked for %s (-want +got):\n%s", asked, diff)
	}
}

func TestARangeThatIsRejected(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"error","error":"parse error"}`))
	}))
	defer server.Close()
	if got, err := (Server{URL: server.URL}).Range(t.Context(), "(", time.Unix(10, 0), time.Unix(15, 0), time.Second); err == nil {
		t.Errorf("got %v", got)
	}
}
