package testbed

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testUp(t *testing.T, options Options) *up {
	t.Helper()
	layout := Layout{cache: t.TempDir()}
	return newUp(layout, options.defaulted(), io.Discard)
}

func TestKubeletConfigFollowsTheOptions(t *testing.T) {
	n := node{number: 1, layout: Layout{cache: "/cache"}}
	plain := kubeletConfig(n, Options{}, "/resolv.conf")
	for _, key := range []string{"crashLoopBackOff", "featureGates"} {
		if _, set := plain[key]; set {
			t.Errorf("%s is set without an option: tests measure the kubelet's defaults", key)
		}
	}
	tuned := kubeletConfig(n, Options{KubeletRestartPeriod: time.Second, EventedPLEG: true}, "/resolv.conf")
	want := map[string]any{"maxContainerRestartPeriod": "1s"}
	if diff := cmp.Diff(want, tuned["crashLoopBackOff"]); diff != "" {
		t.Errorf("back-off (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"EventedPLEG": true}, tuned["featureGates"]); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
	alpha := kubeletConfig(n, Options{Kubernetes: "1.34", KubeletRestartPeriod: time.Second}, "/resolv.conf")
	if diff := cmp.Diff(map[string]any{"KubeletCrashLoopBackOffMax": true}, alpha["featureGates"]); diff != "" {
		t.Errorf("gates of 1.34 (-want +got):\n%s", diff)
	}
}

func TestAChangedOptionRestartsOnlyAffectedComponents(t *testing.T) {
	layout := Layout{cache: t.TempDir()}
	before := fingerprints(t, layout, Options{})
	tests := map[string]struct {
		options Options
		changed []string
	}{
		"nothing":            {Options{}, nil},
		"the restart period": {Options{KubeletRestartPeriod: time.Second}, []string{"kubelet"}},
		"evented PLEG":       {Options{EventedPLEG: true}, []string{"kubelet"}},
		"a second node":      {Options{Nodes: 2}, nil},
		"the version":        {Options{Kubernetes: "1.34"}, []string{apiServer, controllerManager, scheduler, "kubelet"}},
		"an argument": {
			Options{Args: map[string][]string{controllerManager: {"--node-monitor-grace-period=24h"}}},
			[]string{controllerManager},
		},
		"an argument of the kubelet": {Options{Args: map[string][]string{"kubelet": {"--v=4"}}}, []string{"kubelet"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after := fingerprints(t, layout, test.options)
			var changed []string
			for _, component := range []string{etcd, redis, apiServer, controllerManager, scheduler, coreDNS, "containerd", "kubelet"} {
				if before[component] != after[component] {
					changed = append(changed, component)
				}
			}
			if diff := cmp.Diff(test.changed, changed); diff != "" {
				t.Errorf("restarted (-want +got):\n%s", diff)
			}
		})
	}
}

// fingerprints returns the fingerprints of the components that run only once, and of node-1's components.
func fingerprints(t *testing.T, layout Layout, options Options) map[string]string {
	t.Helper()
	u := newUp(layout, options.defaulted(), io.Discard)
	all := map[string]component{
		etcd: u.etcd(), redis: u.redis(), controllerManager: u.controllerManager(),
	}
	add := func(name string, c component, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all[name] = c
	}
	c, err := u.apiServer()
	add(apiServer, c, err)
	c, err = u.scheduler()
	add(scheduler, c, err)
	c, err = u.coreDNS()
	add(coreDNS, c, err)
	c, err = u.containerd(u.nodes[0])
	add("containerd", c, err)
	c, err = u.kubelet(u.nodes[0])
	add("kubelet", c, err)
	prints := map[string]string{}
	for name, c := range all {
		prints[name] = c.spec.Fingerprint()
	}
	return prints
}

func TestNodesHaveTheirOwnPathsAndAddresses(t *testing.T) {
	u := testUp(t, Options{Nodes: 2})
	first, second := u.nodes[0], u.nodes[1]
	for what, pair := range map[string][2]string{
		"name":    {first.name(), second.name()},
		"address": {first.address(), second.address()},
		"subnet":  {first.subnet(), second.subnet()},
		"bridge":  {first.bridge().Name, second.bridge().Name},
		"MAC":     {first.bridge().MAC, second.bridge().MAC},
		"socket":  {first.socket(), second.socket()},
		"cgroup":  {string(first.podsGroup()), string(second.podsGroup())},
		"folder":  {first.dir(), second.dir()},
		"network": {cniConfig(first), cniConfig(second)},
	} {
		if pair[0] == pair[1] {
			t.Errorf("both have the %s %s", what, pair[0])
		}
	}
	last := node{number: maxNodes}
	if name := last.bridge().Name; len(name) > 15 {
		t.Errorf("%s is longer than the name of a device can be", name)
	}
}

func TestCorefile(t *testing.T) {
	want := `.:53 {
	bind 10.87.0.1
	errors
	kubernetes cluster.local in-addr.arpa {
		kubeconfig /k testbed
		pods insecure
		ttl 1
	}
}
`
	if diff := cmp.Diff(want, corefile("/k")); diff != "" {
		t.Errorf("Corefile (-want +got):\n%s", diff)
	}
}

func TestTheContainerdConfigNamesThePauseImageAndSnapshotter(t *testing.T) {
	config := containerdConfig("/cni", "native")
	for _, want := range []string{`sandbox = "localhost/pause:1"`, `snapshotter = "native"`, `conf_dir = "/cni"`, "restrict_oom_score_adj = true"} {
		if !strings.Contains(config, want) {
			t.Errorf("no %q in:\n%s", want, config)
		}
	}
}

func TestWriteFileLeavesAnUnchangedFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "file")
	if err := writeFile(path, "a"); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(path, "a"); err != nil {
		t.Fatal(err)
	}
	if second, err := os.Stat(path); err != nil || !os.SameFile(first, second) {
		t.Errorf("the file was replaced (%v)", err)
	}
	if err := writeFile(path, "b"); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != "b" {
		t.Errorf("the file has %q", raw)
	}
}
