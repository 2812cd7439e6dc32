package main

import (
	"encoding/json"
	"net/http"
)

// admission has those fields of AdmissionReview (admission.k8s.io/v1) that this webhook needs. Importing the API
// package would make the program ten times as large.
type admission struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID    string `json:"uid"`
	Object struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

type response struct {
	UID     string         `json:"uid"`
	Allowed bool           `json:"allowed"`
	Status  map[string]any `json:"status,omitempty"`
}

func review(w http.ResponseWriter, r *http.Request) {
	var a admission
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil || a.Request == nil {
		http.Error(w, "this is not an AdmissionReview", http.StatusBadRequest)
		return
	}
	a.Response = a.Request.review()
	a.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // fails only if the caller has disconnected
}

func (r *request) review() *response {
	if _, forbidden := r.Object.Metadata.Labels["forbidden"]; forbidden {
		return &response{UID: r.UID, Status: map[string]any{"message": "the probe forbids this", "code": http.StatusForbidden}}
	}
	return &response{UID: r.UID, Allowed: true}
}
