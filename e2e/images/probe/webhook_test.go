package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReview(t *testing.T) {
	for name, test := range map[string]struct {
		labels  string
		allowed bool
	}{
		"an object without labels":       {`{}`, true},
		"an object with other labels":    {`{"labels":{"a":"b"}}`, true},
		"an object with the label":       {`{"labels":{"forbidden":"yes"}}`, false},
		"an object with the empty label": {`{"labels":{"forbidden":""}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","object":{"metadata":` + test.labels + `}}}`
			w := httptest.NewRecorder()
			review(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
			var got admission
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if got.Request != nil || got.Response == nil || got.Response.UID != "u" || got.Response.Allowed != test.allowed {
				t.Errorf("answer %s", w.Body)
			}
		})
	}
	w := httptest.NewRecorder()
	if review(w, httptest.NewRequest("POST", "/", strings.NewReader(`{}`))); w.Code != 400 {
		t.Errorf("a body without a request is answered with %d", w.Code)
	}
}
