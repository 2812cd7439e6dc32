package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/settings"
)

func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		arguments runtime.Object
		refused   string
	}{
		"none":                       {nil, ""},
		"none of any type":           {(*runtime.Unknown)(nil), ""},
		"those of the configuration": {&runtime.Unknown{Raw: []byte(`{"strategy":"PreFilterResult"}`), ContentType: runtime.ContentTypeJSON}, ""},
		"wrong ones":                 {&runtime.Unknown{Raw: []byte(`{"strategy":"Guess"}`)}, "args.strategy"},
		"those of another plugin":    {&kubeschedulerconfig.DefaultPreemptionArgs{}, "DefaultPreemptionArgs"},
	} {
		t.Run(name, func(t *testing.T) {
			args, err := read(c.arguments)
			switch {
			case c.refused == "" && err != nil:
				t.Fatal(err)
			case c.refused == "" && args.OnExhaustion != settings.Relax:
				t.Errorf("no defaults: %+v", args)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("want an error about %s, got %v", c.refused, err)
			}
		})
	}
}
