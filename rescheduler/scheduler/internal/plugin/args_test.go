package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

func raw(text string) *runtime.Unknown { return &runtime.Unknown{Raw: []byte(text)} }

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		arguments runtime.Object
		want      exhaustion
	}{
		"none":                 {nil, exhaustionRelax},
		"none, as a typed nil": {(*runtime.Unknown)(nil), exhaustionRelax},
		"nothing":              {raw(""), exhaustionRelax},
		"an empty object":      {raw("{}"), exhaustionRelax},
		"null":                 {raw("null"), exhaustionRelax},
		"JSON":                 {raw(`{"onExhaustion":"Wait"}`), exhaustionWait},
		"YAML":                 {raw("onExhaustion: Wait\n"), exhaustionWait},
		"the kind":             {raw("kind: PodReschedulingArgs"), exhaustionRelax},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := readArgs(c.arguments); err != nil || got.OnExhaustion != c.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	for name, c := range map[string]struct {
		arguments runtime.Object
		names     string
	}{
		"an unknown field":            {raw("onExhaust: Wait"), `"onExhaust"`},
		"a field twice":               {raw("onExhaustion: Wait\nonExhaustion: Wait"), `"onExhaustion"`},
		"no object":                   {raw("[]"), "array"},
		"another end":                 {raw("onExhaustion: Preempt"), "args.onExhaustion"},
		"another kind":                {raw("kind: CoschedulingArgs"), "args.kind"},
		"arguments of another plugin": {&kubeschedulerconfig.DefaultPreemptionArgs{}, "DefaultPreemptionArgs"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readArgs(c.arguments); err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("want an error about %s, got %v", c.names, err)
			}
		})
	}
}

func FuzzReadArgs(f *testing.F) {
	for _, seed := range []string{"", "{}", "onExhaustion: Wait", "[", "kind: null"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := readArgs(&runtime.Unknown{Raw: text})
		if err == nil && got.OnExhaustion != exhaustionRelax && got.OnExhaustion != exhaustionWait {
			t.Errorf("%q was read as %+v", text, got)
		}
	})
}
