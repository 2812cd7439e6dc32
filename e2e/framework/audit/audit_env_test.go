//go:build envtest

package audit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

// audited starts an API server with the audit policy, and returns the path of its audit log.
func audited(t *testing.T) (*rest.Config, string) {
	t.Helper()
	env, err := apiserver.Environment()
	if err != nil {
		t.Fatal(err)
	}
	policy, log := filepath.Join(t.TempDir(), "policy.json"), filepath.Join(t.TempDir(), "audit.log")
	raw, err := json.Marshal(Policy())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	env.ControlPlane.GetAPIServer().Configure().Append("audit-policy-file", policy).Append("audit-log-path", log)
	config, err := apiserver.Run(env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	return config, log
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// clientOf returns a client that uses a service account with the given rules, and the program's name as its user
// agent.
func clientOf(t *testing.T, config *rest.Config, program string, rules ...rbacv1.PolicyRule) kubernetes.Interface {
	t.Helper()
	admin := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))
	meta := metav1.ObjectMeta{Name: program, Namespace: "default"}
	must[*corev1.ServiceAccount](t)(admin.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}))
	must[*rbacv1.ClusterRole](t)(admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}))
	must[*rbacv1.ClusterRoleBinding](t)(admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: program},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: program, Namespace: "default"}},
	}, metav1.CreateOptions{}))
	answer := must[*authenticationv1.TokenRequest](t)(admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), program, &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	own := rest.AnonymousClientConfig(config)
	own.BearerToken, own.UserAgent = answer.Status.Token, program+"/v1 (linux/amd64) abc"
	return must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(own))
}

// Permissions are read correctly from the log of a real API server.
func TestARealLog(t *testing.T) {
	config, file := audited(t)
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}}
	k8s := clientOf(t, config, "jobset", rules...)
	maps := k8s.CoreV1().ConfigMaps("default")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // until the API server knows the role
		if _, err := maps.List(t.Context(), metav1.ListOptions{}); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch.Stop()
	must[*corev1.ConfigMap](t)(maps.Apply(t.Context(), applycorev1.ConfigMap("made", "default"), metav1.ApplyOptions{FieldManager: "test"}))
	if _, err := k8s.CoreV1().Secrets("default").Get(t.Context(), "none", metav1.GetOptions{}); err == nil {
		t.Fatal("a Secret can be read")
	}
	log, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	grants := Grants("jobset", false, rules)
	record, err := Collect(grants, log)
	if err != nil {
		t.Fatal(err)
	}
	unused := words(Unused(grants, record))
	if diff := cmp.Diff([]string{"jobset: delete configmaps"}, unused); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
	if record.Refused["jobset: get secrets (own namespace)"] != 1 {
		t.Errorf("refused: %v", record.Refused)
	}
}
