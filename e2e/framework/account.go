package framework

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SystemNamespace is the programs' namespace in the plain manifests. It also contains their Leases.
	SystemNamespace = "holdfast-system"
	// tokenLife is longer than any run.
	tokenLife = 7 * 24 * time.Hour
)

// Account gives a program on this host exactly the permissions that it has in a cluster. It applies the ServiceAccount
// and the roles in a plain manifest from `make build`, and returns a kubeconfig for that account. It can be called
// repeatedly.
func (env *Environment) Account(ctx context.Context, manifest, account string) (string, error) {
	file := filepath.Join(env.Cluster.Layout().State(), "accounts", account)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := env.applySome(ctx, SystemNamespace, env.File("bin", "manifests", manifest+".yaml"), isRight); err != nil {
		return "", err
	}
	return file, env.writeAccount(ctx, account, file)
}

// Allow grants a program's account additional permissions, as the program's chart does for a setting that is off by
// default.
func (env *Environment) Allow(ctx context.Context, account, name string, rules ...rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: name}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: account}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := env.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("granting permissions to %s: %w", account, err)
		}
	}
	return nil
}

// Administrator creates an account with all permissions, and returns a kubeconfig for it. Its requests are in the
// audit log, unlike those of the cluster's own administrator.
func (env *Environment) Administrator(ctx context.Context, account string) (string, error) {
	if err := env.Namespace(ctx, SystemNamespace); err != nil {
		return "", err
	}
	meta := metav1.ObjectMeta{Namespace: SystemNamespace, Name: account}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: SystemNamespace, Name: account}},
	}
	for _, object := range []client.Object{&corev1.ServiceAccount{ObjectMeta: meta}, binding} {
		if err := env.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", fmt.Errorf("creating the account %s: %w", account, err)
		}
	}
	file := filepath.Join(env.Cluster.Layout().State(), "accounts", account)
	return file, env.writeAccount(ctx, account, file)
}

// isRight reports whether an object is a Namespace, a ServiceAccount, a role or a role binding.
func isRight(object *unstructured.Unstructured) bool {
	kind := object.GetKind()
	return kind == "Namespace" || kind == "ServiceAccount" || strings.HasSuffix(kind, "Role") || strings.HasSuffix(kind, "RoleBinding")
}

// writeAccount writes a copy of the administrator's kubeconfig with the credentials of an account.
func (env *Environment) writeAccount(ctx context.Context, account, file string) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLife.Seconds()))}}
	answer, err := env.Kube.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("requesting a token for %s: %w", account, err)
	}
	config, err := clientcmd.LoadFromFile(env.Cluster.KubeconfigPath())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: answer.Status.Token}
	}
	return clientcmd.WriteToFile(*config, file)
}
