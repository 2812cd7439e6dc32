package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
)

func TestParseArgs(t *testing.T) {
	got, err := parseArgs([]string{"kubelet=--v=4", "etcd=--debug", "kubelet=--node-labels=a=b"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"kubelet": {"--v=4", "--node-labels=a=b"}, "etcd": {"--debug"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"--v=4", "kubelet", "kubelet=v=4", "=--v=4", ""} {
		if _, err := parseArgs([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestParseTargets(t *testing.T) {
	got, err := parseTargets([]string{"manager=127.0.0.1:8080"})
	if err != nil {
		t.Fatal(err)
	}
	want := []prometheus.Target{{Job: "manager", Addresses: []string{"127.0.0.1:8080"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"127.0.0.1:8080", "manager=", "=127.0.0.1:8080", "manager=host"} {
		if _, err := parseTargets([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
