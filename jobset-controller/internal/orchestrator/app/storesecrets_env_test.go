//go:build envtest

package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/shared/bootstrap"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// filler is one of several orchestrators that are started with empty Secrets.
type filler struct {
	options *Options
	cluster *rest.Config
}

func newFiller(t *testing.T, cluster *rest.Config, dir string) filler {
	t.Helper()
	o, err := parse("--valkey-address=valkey.default.svc:6379", "--leader-election-namespace=default", "--health-probe-bind-address=0",
		"--valkey-password-secret=password", "--valkey-password-file="+filepath.Join(dir, "password"),
		"--valkey-tls-secret=tls", "--valkey-tls-ca-file="+filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	return filler{o, cluster}
}

func (f filler) run(t *testing.T) error {
	f.options.Registry = prometheus.NewRegistry()
	mgr, err := bootstrap.New(f.cluster, &f.options.Options, bootstrap.Setup{Program: "orchestrator", Scheme: scheme()})
	if err != nil {
		return err
	}
	return f.options.copySecrets(t.Context(), mgr)
}

func (f filler) files(t *testing.T) map[string]string {
	t.Helper()
	content := map[string]string{}
	for name, file := range map[string]string{"password": f.options.Store.PasswordFile, "ca.crt": f.options.Store.TLS.CA} {
		value, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[name] = string(value)
	}
	return content
}

// The Secrets are filled once, regardless of how many orchestrators start. The permissions of the chart's role are
// sufficient for this.
func TestEmptySecretsAreFilledOnce(t *testing.T) {
	cluster, admin := apiserver.ForTest(t, scheme())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	read := func(name string) map[string][]byte {
		t.Helper()
		secret := &corev1.Secret{}
		must(admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, secret))
		return secret.Data
	}
	as := rest.CopyConfig(cluster)
	as.Impersonate.UserName = leaderUser
	must(admin.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta("store"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"password", "tls"}, Verbs: []string{"get", "update"}},
	}}))
	must(admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta("store"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "store"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: leaderUser}},
	}))

	if err := newFiller(t, as, t.TempDir()).run(t); err == nil || !strings.Contains(err.Error(), "create it empty") {
		t.Errorf("without a Secret: %v", err)
	}
	for _, name := range []string{"password", "tls", "other"} {
		must(admin.Create(t.Context(), &corev1.Secret{ObjectMeta: meta(name)}))
	}
	fillers := make([]filler, 4)
	var started sync.WaitGroup
	for i := range fillers {
		fillers[i] = newFiller(t, as, t.TempDir())
		started.Go(func() {
			if err := fillers[i].run(t); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	password, certificate := read("password"), read("tls")
	want := map[string]string{"password": string(password["password"]), "ca.crt": string(certificate["ca.crt"])}
	for _, f := range fillers {
		if diff := cmp.Diff(want, f.files(t)); diff != "" || want["password"] == "" || want["ca.crt"] == "" {
			t.Errorf("the files of an orchestrator differ from the Secrets (-Secret +file):\n%s", diff)
		}
	}

	must(newFiller(t, as, t.TempDir()).run(t))
	if diff := cmp.Diff([]any{password, certificate}, []any{read("password"), read("tls")}); diff != "" {
		t.Errorf("a later orchestrator changed a Secret:\n%s", diff)
	}
	if err := fillOther(t, as); !apierrors.IsForbidden(err) {
		t.Errorf("reading another Secret: %v, want forbidden", err)
	}

	changed := &corev1.Secret{ObjectMeta: meta("password"), Data: map[string][]byte{"password": []byte("changed")}}
	must(admin.Update(t.Context(), changed))
	must(fillers[0].run(t))
	if got := fillers[0].files(t)["password"]; got != "changed" {
		t.Errorf("after a change of the Secret, the file has %q", got)
	}
	changed.Data = map[string][]byte{"token": []byte("mine")}
	must(admin.Update(t.Context(), changed))
	if err := fillers[0].run(t); err == nil || !strings.Contains(err.Error(), "no key password") {
		t.Errorf("a Secret with other keys: %v", err)
	}
	if diff := cmp.Diff(changed.Data, read("password")); diff != "" {
		t.Errorf("it was overwritten:\n%s", diff)
	}
}

func fillOther(t *testing.T, cluster *rest.Config) error {
	t.Helper()
	k8s, err := client.New(cluster, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return k8s.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "other"}, &corev1.Secret{})
}
