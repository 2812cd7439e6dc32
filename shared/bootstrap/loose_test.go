package bootstrap

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}

func TestReadLooseConfigReturnsUnknownKeys(t *testing.T) {
	for name, c := range map[string]struct {
		file, unknown, err string
		port               int
	}{
		"with keys of earlier versions": {"webhook: {port: 7, colour: red}\nslack: true\n", `unknown field "slack" unknown field "webhook.colour"`, "", 7},
		"with an invalid value":         {"webhook: {port: high}\n", "", "cannot unmarshal", 0},
		"that is not YAML":              {"webhook: {\n", "", "yaml: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var o Options
			into := testConfig{Config: o.Config()}
			unknown, err := ReadLooseConfig(write(t, c.file), &pflag.FlagSet{}, &into)
			var lines []string
			for _, u := range unknown {
				lines = append(lines, u.Error())
			}
			if got := strings.Join(lines, " "); got != c.unknown || !strings.Contains(text(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("unknown %q, error %v", got, err)
			}
			if o.Webhook.Port != c.port {
				t.Errorf("port %v", o.Webhook.Port)
			}
		})
	}
}
