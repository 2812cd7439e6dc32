package charts

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
)

// The chart's own store is closed to strangers without a say: TLS only, a default user that is switched off, a password of its own.
func TestTheStoreIsGuarded(t *testing.T) {
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
	// The server replays its append-only file with the rights of the default user, which nobody can log in as.
	if got := strings.Join(users["default"], " "); got != "off ~* &* +@all" {
		t.Errorf("the default user is %s", got)
	}
	if got := strings.Join(users["holdfast-orchestrator"], " "); !strings.HasPrefix(got, "on >$(VALKEY_PASSWORD) -@all ") || !strings.Contains(got, "+acl") {
		t.Errorf("the orchestrator's user is %s", got)
	}
	secret := as[corev1.Secret](t, all.named(t, "Secret", "-valkey-password"))
	if password := secret.Data["password"]; len(password) < 40 {
		t.Errorf("the password is %d bytes long", len(password))
	}
	args := all.container(t, "orchestrator").Args
	for _, want := range []string{
		"--valkey-acl", "--valkey-username=holdfast-orchestrator", "--valkey-password-file=/etc/valkey-password/password",
		"--valkey-tls-ca-file=/etc/valkey-tls/ca.crt", "--valkey-password-max-age=720h",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("the orchestrator is not given %s: %q", want, args)
		}
	}
}

// users are the rules of each user in the arguments of a store.
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

// The certificate is good for every name that agents may use.
func TestTheCertificateOfTheStore(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["orchestrator and valkey"])
	secret := as[corev1.Secret](t, all.named(t, "Secret", "-valkey-tls"))
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatal("ca.crt holds no certificate")
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"valkey", "valkey.holdfast", "valkey.holdfast.svc", "valkey.holdfast.svc.cluster.local"} {
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
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

// Secrets of the user's own are used and not made.
func TestSecretsOfTheUser(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["everything"])
	if found := all.find("Secret"); len(found) != 0 {
		t.Errorf("Secret %s is made", found[0].GetName())
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
		t.Errorf("mounted are %v", mounted)
	}
}

func TestAStoreThatIsThereIsLeftAsItIs(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["external valkey"])
	args := strings.Join(append(all.container(t, "orchestrator").Args, all.container(t, "manager").Args...), " ")
	for _, flag := range []string{"--valkey-acl", "--valkey-tls", "--inplace-store-acl", "--inplace-store-tls"} {
		if strings.Contains(args, flag) {
			t.Errorf("%s is set without a say", flag)
		}
	}
	guarded := strings.Join(mustParse(t, jobSetChart, settings["guarded external valkey"]).container(t, "orchestrator").Args, " ")
	for _, want := range []string{"--valkey-acl", "--valkey-tls-ca-file=/etc/valkey-tls/ca.crt", "--valkey-tls-server-name=redis.example"} {
		if !strings.Contains(guarded, want) {
			t.Errorf("%s is missing: %s", want, guarded)
		}
	}
}

func TestThePolicyForTheSidecar(t *testing.T) {
	if found := mustParse(t, jobSetChart, settings["orchestrator and valkey"]).find("ValidatingAdmissionPolicy"); len(found) != 0 {
		t.Error("it is there without a say")
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
	// The folders are those that were tried on an API server.
	tried, err := os.ReadFile(filepath.Join("..", "jobset-controller", "internal", "testing", "policy", "cri_env_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tried), `"`+parameters.Data["folders"]+`"`) {
		t.Errorf("the test of the policies has other folders than %s", parameters.Data["folders"])
	}
}

// Two renderings outside of a cluster make two passwords; in a cluster the first one stays, see the end-to-end tests.
func TestThePasswordIsNotTheSameEverywhere(t *testing.T) {
	password := func() string {
		secret := as[corev1.Secret](t, mustParse(t, jobSetChart, settings["orchestrator and valkey"]).named(t, "Secret", "-valkey-password"))
		return base64.StdEncoding.EncodeToString(secret.Data["password"])
	}
	if first, second := password(), password(); first == second {
		t.Error("it is")
	}
}
