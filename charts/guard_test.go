package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// The chart's own store is protected by default: it has only a TLS port, a disabled default user, and a password of its own.
func TestStoreIsClosedByDefault(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["orchestrator and valkey"])
	for key, want := range map[string]string{
		"--port": "0", "--tls-port": "6379", "--tls-cert-file": "/etc/valkey-tls/tls.crt", "--tls-key-file": "/etc/valkey-tls/tls.key",
		"--tls-ca-cert-file": "/etc/valkey-tls/ca.crt", "--tls-auth-clients": "no", "--maxmemory": "768mb", "--proto-max-bulk-len": "1mb",
	} {
		if got := setting(t, all, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	users := users(all.container(t, "valkey").Args)
	// The default user cannot log in. It has permissions because the server replays its append-only file as this user.
	if got := strings.Join(users["default"], " "); got != "off ~* &* +@all" {
		t.Errorf("the default user is %s", got)
	}
	if got := strings.Join(users["holdfast-orchestrator"], " "); !strings.HasPrefix(got, "on >$(VALKEY_PASSWORD) -@all ") || !strings.Contains(got, "+acl") {
		t.Errorf("the orchestrator's user is %s", got)
	}
	args := all.container(t, "orchestrator").Args
	for _, want := range []string{
		"--valkey-acl", "--valkey-username=holdfast-orchestrator", "--valkey-password-file=/etc/valkey-password/password",
		"--valkey-tls-ca-file=/etc/valkey-tls/ca.crt", "--valkey-password-max-age=720h",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("the orchestrator does not get %s: %q", want, args)
		}
	}
}

// users returns the ACL rules of each user in the arguments of a store.
func users(args []string) map[string][]string {
	found := map[string][]string{}
	name := ""
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--user":
			i++
			name = args[i]
		case strings.HasPrefix(args[i], "--"):
			name = ""
		case name != "":
			found[name] = append(found[name], args[i])
		}
	}
	return found
}

// The chart renders the Secrets of its store without data, so that every rendering is identical and none overwrites existing data. The
// orchestrator fills them. Its role allows it to read and update only these Secrets.
func TestOrchestratorFillsSecrets(t *testing.T) {
	const own = "orchestrator: {enabled: true}\nvalkey: {enabled: true, %s}"
	for name, tc := range map[string]struct {
		values         string
		password, cert bool
	}{
		"password and certificate of the chart": {settings["orchestrator and valkey"], true, true},
		"certificate of the user":               {fmt.Sprintf(own, "tls: {existingSecret: mine}"), true, false},
		"password of the user":                  {fmt.Sprintf(own, "existingSecret: mine"), false, true},
		"password and certificate of the user":  {settings["everything"], false, false},
		"external store":                        {settings["guarded external valkey"], false, false},
		"neither users nor TLS":                 {fmt.Sprintf(own, "auth: {enabled: false}, tls: {enabled: false}"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, tc.values)
			if diff := cmp.Diff(all, mustParse(t, jobSetChart, tc.values)); diff != "" {
				t.Errorf("two renderings differ:\n%s", diff)
			}
			var names []string
			for _, object := range all.find("Secret") {
				secret := as[corev1.Secret](t, object)
				if strings.Contains(secret.Name, "-valkey-") {
					names = append(names, secret.Name)
				}
				if len(secret.Data)+len(secret.StringData) > 0 || secret.Type != "" {
					t.Errorf("Secret %s has data or a type", secret.Name)
				}
			}
			args := strings.Join(all.container(t, "orchestrator").Args, " ")
			for suffix, want := range map[string]bool{"password": tc.password, "tls": tc.cert} {
				at := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "-valkey-"+suffix) })
				if (at >= 0) != want || strings.Contains(args, "--valkey-"+suffix+"-secret=") != want {
					t.Errorf("%s: want %v, Secrets %q, arguments %s", suffix, want, names, args)
				} else if want && !strings.Contains(args, "--valkey-"+suffix+"-secret="+names[at]) {
					t.Errorf("the orchestrator does not fill Secret %s: %s", names[at], args)
				}
			}
			checkRightsToSecrets(t, all, names)
		})
	}
}

// checkRightsToSecrets checks that the orchestrator's role covers the Secrets that it fills, and that its pod does not mount them. If
// it mounted them, the pod would wait for Secrets that only it can fill.
func checkRightsToSecrets(t *testing.T, all objects, names []string) {
	t.Helper()
	var granted []string
	for _, object := range all.find("Role") {
		if role := as[rbacv1.Role](t, object); strings.HasSuffix(role.Name, "-orchestrator-store") {
			rule := role.Rules[0]
			if len(role.Rules) != 1 || !slices.Equal(rule.Verbs, []string{"get", "update"}) || !slices.Equal(rule.Resources, []string{"secrets"}) {
				t.Errorf("the rules are %v", role.Rules)
			}
			granted = rule.ResourceNames
			all.named(t, "RoleBinding", role.Name)
		}
	}
	if diff := cmp.Diff(names, granted); diff != "" {
		t.Errorf("the orchestrator may read other Secrets than it fills (-filled +granted):\n%s", diff)
	}
	manager := as[appsv1.Deployment](t, all.find("Deployment")[0])
	for _, volume := range manager.Spec.Template.Spec.Volumes {
		if volume.Secret != nil && slices.Contains(names, volume.Secret.SecretName) {
			t.Errorf("the orchestrator's pod waits for Secret %s, which it fills", volume.Secret.SecretName)
		}
	}
}

// The store's pod does not start while a key of its Secrets is missing.
func TestStoreWaitsForSecrets(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["orchestrator and valkey"])
	pod := as[appsv1.StatefulSet](t, all.find("StatefulSet")[0]).Spec.Template.Spec
	ref := pod.Containers[0].Env[0].ValueFrom.SecretKeyRef
	if ref.Key != "password" || ref.Optional != nil {
		t.Errorf("the password is %v", ref)
	}
	at := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })
	var keys []string
	for _, item := range pod.Volumes[at].Secret.Items {
		keys = append(keys, item.Key)
	}
	if want := []string{"ca.crt", "tls.crt", "tls.key"}; !slices.Equal(keys, want) || pod.Volumes[at].Secret.Optional != nil {
		t.Errorf("the pod needs %q, want %q, each required", keys, want)
	}
}

func TestAgentsWithoutCredentials(t *testing.T) {
	users := users(mustParse(t, jobSetChart, settings["everything"]).container(t, "valkey").Args)
	rules, err := os.ReadFile(filepath.Join(jobSetChart, "files", "valkey", "agents.rules"))
	if err != nil {
		t.Fatal(err)
	}
	want := "on nopass " + strings.Join(strings.Fields(string(rules)), " ")
	if got := strings.Join(users["default"], " "); got != want {
		t.Errorf("the default user is %s, want %s", got, want)
	}
}

// If the user provides Secrets, the chart uses them and does not create its own.
func TestExistingSecrets(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["everything"])
	if found := all.find("Secret"); len(found) != 0 {
		t.Errorf("Secret %s is rendered", found[0].GetName())
	}
	mounted := map[string]bool{}
	for _, template := range all.podTemplates(t) {
		for _, v := range template.Spec.Volumes {
			if v.Secret != nil {
				mounted[v.Secret.SecretName] = true
			}
		}
	}
	if !mounted["store"] || !mounted["store-tls"] {
		t.Errorf("mounted: %v", mounted)
	}
}

func TestExternalStore(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["external valkey"])
	args := strings.Join(append(all.container(t, "orchestrator").Args, all.container(t, "manager").Args...), " ")
	for _, flag := range []string{"--valkey-acl", "--valkey-tls", "--inplace-store-acl", "--inplace-store-tls"} {
		if strings.Contains(args, flag) {
			t.Errorf("%s is set by default", flag)
		}
	}
	guarded := strings.Join(mustParse(t, jobSetChart, settings["guarded external valkey"]).container(t, "orchestrator").Args, " ")
	for _, want := range []string{"--valkey-acl", "--valkey-tls-ca-file=/etc/valkey-tls/ca.crt", "--valkey-tls-server-name=redis.example"} {
		if !strings.Contains(guarded, want) {
			t.Errorf("%s is missing: %s", want, guarded)
		}
	}
}

func TestSidecarAdmissionPolicy(t *testing.T) {
	if found := mustParse(t, jobSetChart, settings["orchestrator and valkey"]).find("ValidatingAdmissionPolicy"); len(found) != 0 {
		t.Error("it is rendered by default")
	}
	all := mustParse(t, jobSetChart, settings["everything"])
	parameters := as[corev1.ConfigMap](t, all.named(t, "ConfigMap", "-cri-policy"))
	if parameters.Data["namespaces"] != "a,b" || parameters.Data["allPods"] != "true" || !strings.Contains(parameters.Data["folders"], "/run/containerd,") {
		t.Errorf("parameters %v", parameters.Data)
	}
	policies := all.find("ValidatingAdmissionPolicy")
	if len(policies) != 2 {
		t.Fatalf("%d policies, want 2", len(policies))
	}
	for _, obj := range policies {
		policy := as[admissionv1.ValidatingAdmissionPolicy](t, obj)
		binding := as[admissionv1.ValidatingAdmissionPolicyBinding](t, all.named(t, "ValidatingAdmissionPolicyBinding", policy.Name))
		ref := binding.Spec.ParamRef
		if binding.Spec.PolicyName != policy.Name || ref.Name != parameters.Name || ref.Namespace != parameters.Namespace ||
			fmt.Sprint(binding.Spec.ValidationActions) != "[Deny Audit]" {
			t.Errorf("binding %+v", binding.Spec)
		}
	}
	// The listed directories have been tested on an API server.
	tried, err := os.ReadFile(filepath.Join("..", "jobset-controller", "internal", "testing", "policy", "cri_env_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tried), `"`+parameters.Data["folders"]+`"`) {
		t.Errorf("the test of the policy does not use the folders %s", parameters.Data["folders"])
	}
}
