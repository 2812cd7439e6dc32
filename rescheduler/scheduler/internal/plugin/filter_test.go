package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

func TestExcludedNodesAreRejected(t *testing.T) {
	for name, c := range map[string]struct {
		annotation []string
		want       []string
		skipped    bool
	}{
		"no annotation":           {nil, []string{"a", "b", "c"}, true},
		"one node":                {[]string{`["a"]`}, []string{"b", "c"}, false},
		"two nodes":               {[]string{`["a","c"]`}, []string{"b"}, false},
		"nodes that do not exist": {[]string{`["x","y"]`}, []string{"a", "b", "c"}, false},
		"an empty list":           {[]string{`[]`}, []string{"a", "b", "c"}, true},
		"null, as written by the first implementation": {[]string{`null`}, []string{"a", "b", "c"}, true},
		"exclusions of all nodes, which are ignored":   {[]string{`["a","b","c"]`}, []string{"a", "b", "c"}, true},
		"all nodes and a deleted one":                  {[]string{`["a","b","c","gone"]`}, []string{"a", "b", "c"}, true},
		"broken JSON":                                  {[]string{`["a",`}, []string{"a", "b", "c"}, true},
		"JSON of another type":                         {[]string{`{"deployScheduledHosts":["a"]}`}, []string{"a", "b", "c"}, true},
		"an empty value":                               {[]string{""}, []string{"a", "b", "c"}, true},
		"an annotation of 256 KiB":                     {[]string{`["` + strings.Repeat("a", 256<<10) + `"]`}, []string{"a", "b", "c"}, true},
		"an annotation of 256 KiB that repeats a name": {[]string{`["a"` + strings.Repeat(`,"a"`, 64<<10) + `]`}, []string{"a", "b", "c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b", "c")
			got := w.try(makePod("pod", c.annotation...))
			if diff := cmp.Diff(c.want, got.fit); diff != "" {
				t.Error(diff)
			}
			if got.status.IsSkip() != c.skipped {
				t.Errorf("skipped: %v", got.status.IsSkip())
			}
		})
	}
}

func TestIgnoredExclusionsSendAnEvent(t *testing.T) {
	for name, c := range map[string]struct{ annotation, says string }{
		"broken JSON": {`["a",`, "not a JSON array"},
		"too large":   {`["` + strings.Repeat("a", 256<<10) + `"]`, "too large"},
		"all nodes":   {`["a","b"]`, "names all nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "a", "b")
			w.try(makePod("pod", c.annotation))
			got := w.events()
			if len(got) != 1 || !strings.Contains(got[0], "ExclusionsIgnored") || !strings.Contains(got[0], c.says) {
				t.Errorf("got %q", got)
			}
			if len(got) == 1 && len(got[0]) > 1024 {
				t.Errorf("the event has %d bytes, more than the API server accepts", len(got[0]))
			}
		})
	}
}

func TestPreemptionLeavesExcludedNodesAlone(t *testing.T) {
	w := newWorld(t, "a", "b")
	a := w.try(makePod("pod", `["a"]`))
	node, err := w.handle.snapshot.NodeInfos().Get("a")
	if err != nil {
		t.Fatal(err)
	}
	status := w.Filter(t.Context(), a.state, makePod("pod", `["a"]`), node)
	if status.Code() != fwk.UnschedulableAndUnresolvable {
		t.Errorf("%v: the scheduler would preempt pods on the excluded node", status.Code())
	}
	if status.Message() != memory.FilterMessage {
		t.Errorf("the controller does not recognize %q", status.Message())
	}
}

func TestFilterWithoutPreFilterAllowsAll(t *testing.T) {
	w := newWorld(t, "a")
	node, err := w.handle.snapshot.NodeInfos().Get("a")
	if err != nil {
		t.Fatal(err)
	}
	if status := w.Filter(t.Context(), framework.NewCycleState(), makePod("pod", `["a"]`), node); !status.IsSuccess() {
		t.Errorf("got %v", status)
	}
}

func TestSignatures(t *testing.T) {
	w := newWorld(t)
	sign := func(annotation ...string) []fwk.SignFragment {
		t.Helper()
		fragments, status := w.SignPod(t.Context(), makePod("pod", annotation...))
		if !status.IsSuccess() {
			t.Fatalf("the pod cannot be batched: %v", status)
		}
		return fragments
	}
	for name, c := range map[string]struct {
		annotation []string
		want       []fwk.SignFragment
	}{
		"no annotation":               {nil, nil},
		"an empty list of exclusions": {[]string{"[]"}, nil},
		"an invalid list":             {[]string{"["}, nil},
		"a list of nodes":             {[]string{`["b","a"]`}, []fwk.SignFragment{{Key: fragment, Value: []string{"a", "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sign(c.annotation...)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if diff := cmp.Diff(sign(`["a","b"]`), sign(`[ "b", "a", "a" ]`)); diff != "" {
		t.Errorf("the order of the nodes changes the signature: %s", diff)
	}
}

func TestPodWithoutAnnotationAllocatesNothing(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	nodes, err := w.handle.snapshot.NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	pod, state, ctx := makePod("pod"), framework.NewCycleState(), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		w.PreFilter(ctx, state, pod, nodes)
		w.SignPod(ctx, pod)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
