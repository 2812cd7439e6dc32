package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManagerInjectionFlags(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		want   []string // images without their tags
	}{
		"no orchestrator": {``, nil},
		"injection disabled": {settings["orchestrator and valkey"] + `
injection: {enabled: false}`, nil},
		"store of the chart": {settings["orchestrator and valkey"], []string{
			"--inplace-store-address=valkey.holdfast.svc:6379", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-exec-image=registry.example/holdfast-exec", "--inplace-agent-image=registry.example/agent"}},
		"external store": {settings["external valkey"], []string{
			"--inplace-store-address=redis.data.svc:6380", "--inplace-store-username=holdfast",
			"--inplace-store-secret=redis-user", "--inplace-store-secret-key=secret",
			"--inplace-exec-image=registry.example/holdfast-exec", "--inplace-agent-image=registry.example/agent"}},
		"external store with a user for each JobSet": {settings["guarded external valkey"], []string{
			"--inplace-store-address=redis.data.svc:6380", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-store-tls-server-name=redis.example",
			"--inplace-exec-image=registry.example/holdfast-exec", "--inplace-agent-image=registry.example/agent"}},
		"agents with their own address and one user": {settings["open valkey"], []string{
			"--inplace-store-address=store.example:6400", "--inplace-store-username=workers",
			"--inplace-store-secret=workers", "--inplace-store-secret-key=token",
			"--inplace-exec-image=registry.example/holdfast-exec", "--inplace-agent-image=registry.example/agent"}},
		"agents with their own address": {settings["everything"], []string{
			"--inplace-store-address=store.example:6400", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-exec-image=registry.example/holdfast-exec@sha256", "--inplace-agent-image=localhost/agent", "--inplace-image-pull-secrets=pull"}},
		"global pull Secrets and those of the chart": {settings["orchestrator and valkey"] + `
global: {imageRegistry: registry.example, imagePullSecrets: [{name: all}]}
imagePullSecrets: [{name: own}]`, []string{
			"--inplace-store-address=valkey.holdfast.svc:6379", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-exec-image=registry.example/holdfast-exec", "--inplace-agent-image=registry.example/agent", "--inplace-image-pull-secrets=all,own"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, arg := range mustParse(t, jobSetChart, c.values).container(t, "manager").Args {
				if !strings.HasPrefix(arg, "--inplace-") {
					continue
				}
				if strings.Contains(arg, "-image=") {
					arg = arg[:strings.LastIndex(arg, ":")]
				}
				got = append(got, arg)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The agents and the orchestrator must use the same store.
func TestAgentsAndOrchestratorUseSameStore(t *testing.T) {
	for _, name := range []string{"orchestrator and valkey", "external valkey"} {
		all := mustParse(t, jobSetChart, settings[name])
		for _, arg := range all.container(t, "orchestrator").Args {
			address, is := strings.CutPrefix(arg, "--valkey-address=")
			if is && !slices.Contains(all.container(t, "manager").Args, "--inplace-store-address="+address) {
				t.Errorf("%s: the agents do not get %s", name, address)
			}
		}
	}
}
