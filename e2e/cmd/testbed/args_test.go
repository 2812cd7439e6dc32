package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
