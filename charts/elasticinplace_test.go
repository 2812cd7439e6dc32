package charts

import (
	"slices"
	"strings"
	"testing"
)

// The manager has no flags for in-place restarts unless they are enabled.
func TestElasticOperatorInPlaceFlags(t *testing.T) {
	for values, want := range map[string][]string{
		"": nil,
		installed[elasticChart].settings["everything"]: {
			"--inplace-store-address=valkey.holdfast.svc:6379", "--inplace-store-acl", "--inplace-store-tls",
			"--inplace-store-tls-server-name=store.example", "--inplace-exec-image=registry.example/holdfast-exec",
		},
		`inPlace: {enabled: true, storeAddress: "a:1", storeAuth: false, storeTLS: false, storeUsername: u, existingSecret: s, execImage: {repository: e, tag: v1}}`: {
			"--inplace-store-address=a:1", "--inplace-store-username=u", "--inplace-store-secret=s", "--inplace-store-secret-key=password", "--inplace-exec-image=registry.example/e",
		},
	} {
		var got []string
		for _, arg := range mustParse(t, elasticChart, values).container(t, "manager").Args {
			if strings.Contains(arg, "-exec-image=") {
				arg = arg[:strings.LastIndex(arg, ":")]
			}
			if strings.HasPrefix(arg, "--inplace-") {
				got = append(got, arg)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}

// The images of the operator's programs may be in a private registry to which the authors of ElasticJobs do not have
// access.
func TestElasticOperatorPullSecrets(t *testing.T) {
	for values, want := range map[string]string{
		"": "",
		"imagePullSecrets: [{name: own}]\nglobal: {imageRegistry: registry.example, imagePullSecrets: [{name: all}]}": "--image-pull-secrets=all,own",
	} {
		got := ""
		for _, arg := range mustParse(t, elasticChart, values).container(t, "manager").Args {
			if strings.HasPrefix(arg, "--image-pull-secrets") {
				got = arg
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", values, got, want)
		}
	}
}

// If orchestrator.elasticJobs is set, the orchestrator coordinates ElasticJobs and their pods may connect to the
// store.
func TestOrchestratorLeadsElasticJobs(t *testing.T) {
	guarded := settings["orchestrator and valkey"] + "\nnetworkPolicy: {enabled: true}"
	for values, want := range map[string]bool{guarded: false, settings["everything"]: true} {
		args := mustParse(t, jobSetChart, values).container(t, "orchestrator").Args
		if slices.Contains(args, "--elasticjobs") != want {
			t.Errorf("%s: %q", values, args)
		}
		files := mustRender(t, jobSetChart, values)
		reaches := false
		for name, content := range files {
			reaches = reaches || strings.HasSuffix(name, "networkpolicy.yaml") && strings.Contains(content, "group-name: elastic.pytorch.org")
		}
		if reaches != want {
			t.Errorf("%s: pods of ElasticJobs reach the store: %v", values, reaches)
		}
	}
}
