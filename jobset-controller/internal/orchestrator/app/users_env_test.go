//go:build envtest

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/credentials"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// guarded is an orchestrator with the permissions of its role. It uses a real API server and a real store with TLS,
// which initially has only the leader's user.
type guarded struct {
	*testing.T
	admin   client.Client
	dir     string
	address string
	redis   *exec.Cmd
}

const leaderUser = "leader"

func startGuarded(t *testing.T, flags ...string) *guarded {
	t.Helper()
	g := &guarded{T: t, dir: t.TempDir()}
	var cluster *rest.Config
	cluster, g.admin = apiserver.ForTest(t, scheme(), "../../../../charts/jobset-controller/files/crds")
	g.prepareStore()
	g.startStore()
	t.Cleanup(g.killStore)
	g.grant()
	as := rest.CopyConfig(cluster)
	as.Impersonate.UserName = leaderUser
	g.lead(as, flags...)
	blind, err := client.New(as, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := blind.List(t.Context(), &corev1.SecretList{}); !apierrors.IsForbidden(err) {
		t.Errorf("the orchestrator may list Secrets: %v", err)
	}
	return g
}

func (g *guarded) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) file(name string) string { return filepath.Join(g.dir, name) }

func (g *guarded) prepareStore() {
	g.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.must(err)
	g.address = l.Addr().String()
	g.must(l.Close())
	certificate, key, err := cert.GenerateSelfSignedCertKey("store", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	g.must(err)
	for name, content := range map[string][]byte{"ca.crt": certificate, "tls.key": key, "password": []byte("secret")} {
		g.must(os.WriteFile(g.file(name), content, 0o600))
	}
}

func (g *guarded) startStore() {
	g.Helper()
	_, port, _ := net.SplitHostPort(g.address)
	args := []string{
		"--bind", "127.0.0.1", "--port", "0", "--tls-port", port, "--tls-cert-file", g.file("ca.crt"), "--tls-key-file", g.file("tls.key"),
		"--tls-ca-cert-file", g.file("ca.crt"), "--tls-auth-clients", "no", "--dir", g.dir, "--save", "", "--appendonly", "no",
		"--user", "default", "off", "--user", leaderUser, "on", ">secret",
	}
	rules, err := os.ReadFile("../../../../charts/jobset-controller/files/valkey/orchestrator.rules")
	g.must(err)
	g.redis = exec.Command("redis-server", append(args, strings.Fields(string(rules))...)...)
	g.redis.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // exits with the test process, even if that is killed
	g.must(g.redis.Start())
}

func (g *guarded) killStore() {
	_ = g.redis.Process.Kill()
	_ = g.redis.Wait()
}

// grant gives the leader the generated role, and a Lease.
func (g *guarded) grant() {
	g.Helper()
	content, err := os.ReadFile("../../../../charts/jobset-controller/files/rbac/orchestrator.yaml")
	g.must(err)
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		role := &unstructured.Unstructured{}
		err := documents.Decode(role)
		if errors.Is(err, io.EOF) {
			return
		}
		g.must(err)
		meta := metav1.ObjectMeta{Name: leaderUser}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
		subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: leaderUser}}
		if role.GetKind() == "Role" {
			role.SetNamespace("default")
			meta.Namespace = "default"
			g.must(g.admin.Create(g.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}))
		} else {
			g.must(g.admin.Create(g.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}))
		}
		g.must(g.admin.Create(g.Context(), role))
	}
}

func (g *guarded) lead(cluster *rest.Config, flags ...string) {
	g.Helper()
	o, err := parse(append(flags, "--valkey-address="+g.address, "--valkey-username="+leaderUser, "--valkey-password-file="+g.file("password"),
		"--valkey-tls-ca-file="+g.file("ca.crt"), "--valkey-acl", "--leader-election-namespace=default", "--health-probe-bind-address=0")...)
	g.must(err)
	o.Registry = prometheus.NewRegistry()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, cluster) }()
	g.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			g.Errorf("the orchestrator exits with %v", err)
		}
	})
}

func (g *guarded) createJobSet() *v1alpha2.JobSet {
	g.Helper()
	pod := corev1.PodSpec{
		RestartPolicy:  corev1.RestartPolicyOnFailure,
		Containers:     []corev1.Container{{Name: "worker", Image: "i"}},
		InitContainers: []corev1.Container{{Name: "agent", Image: "i", Args: []string{"--worker-jobset-uid=$(JOBSET_UID)"}}},
	}
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "js", Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}},
		Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Replicas: 1, Template: batchv1.JobTemplateSpec{
			Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1), Template: corev1.PodTemplateSpec{Spec: pod}},
		}}}},
	}
	g.must(g.admin.Create(g.Context(), js))
	return js
}

// eventually calls ask until it returns nil.
func (g *guarded) eventually(what string, ask func() error) {
	g.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			g.Fatalf("%s: %v", what, err)
		}
	}
}

func (g *guarded) secret() (*corev1.Secret, error) { return g.secretNamed("holdfast-store-js") }

func (g *guarded) secretNamed(name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, g.admin.Get(g.Context(), client.ObjectKey{Namespace: "default", Name: name}, s)
}

// agent returns a client with the credentials in a pod's Secret.
func (g *guarded) agent(s *corev1.Secret) *valkey.Store {
	g.Helper()
	dir := g.TempDir()
	for _, name := range []string{"password", "ca.crt"} {
		g.must(os.WriteFile(filepath.Join(dir, name), s.Data[name], 0o600))
	}
	store, err := valkey.New(valkey.Options{
		Address: g.address, Username: string(s.Data["username"]), PasswordFile: filepath.Join(dir, "password"), TLS: valkey.TLSFiles{CA: filepath.Join(dir, "ca.crt")},
	})
	g.must(err)
	g.Cleanup(func() { _ = store.Close() })
	return store
}

// The user is created first. It is restored after the store loses its data, its password is rotated on request, and it
// is deleted with the JobSet.
func TestUserLifecycle(t *testing.T) {
	g := startGuarded(t)
	js := g.createJobSet()
	uid := string(js.UID)
	var secret *corev1.Secret
	g.eventually("there is a Secret", func() (err error) {
		secret, err = g.secret()
		return err
	})
	member := rounds.Member{Slot: rounds.Slot{Name: "js-w-0-0", Pod: "p"}, ID: "i", Attempt: 1, Ran: true, Past: rounds.Past{Kind: rounds.PastRan}}
	agent := g.agent(secret)
	joins := func(agent *valkey.Store) func() error {
		return func() error {
			o := agent.Observe(t.Context(), uid, member.Slot)
			if o.Err != nil {
				return o.Err
			}
			answer, _, err := agent.Call(t.Context(), uid, rounds.Join(o.Level.Incarnation, 0, o.Level.Round, 0, member))
			if err == nil && answer != string(rounds.AnswerJoined) {
				return fmt.Errorf("the store returned %q", answer)
			}
			return err
		}
	}
	g.eventually("an agent joins", joins(agent))
	if _, _, err := agent.Call(t.Context(), "other", rounds.Join("inc", 0, 0, 0, member)); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("a join in another group: %v, want NOPERM", err)
	}

	g.killStore()
	g.startStore()
	g.eventually("the agent joins again after the store has lost everything", joins(agent))

	change := js.DeepCopy()
	metav1.SetMetaDataAnnotation(&change.ObjectMeta, credentials.RotateAnnotation, "1")
	g.must(g.admin.Patch(t.Context(), change, client.MergeFrom(js)))
	var rotated *corev1.Secret
	g.eventually("the password is replaced", func() (err error) {
		if rotated, err = g.secret(); err == nil && bytes.Equal(rotated.Data["password"], secret.Data["password"]) {
			err = errors.New("the password is the same")
		}
		return err
	})
	for name, s := range map[string]*corev1.Secret{"the old password": secret, "the new password": rotated} {
		if err := joins(g.agent(s))(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	g.must(g.admin.Delete(t.Context(), js))
	late := g.agent(rotated)
	g.eventually("the user is gone", func() error {
		if err := late.Observe(t.Context(), uid, member.Slot).Err; err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
			return fmt.Errorf("connecting as an agent: %v", err)
		}
		return nil
	})
}
