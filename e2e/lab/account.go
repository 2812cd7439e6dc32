package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

const (
	// SystemNamespace is where the plain manifests put programs: Leases of programs that have an account of theirs are there.
	SystemNamespace = "holdfast-system"
	// tokenLife is longer than any run.
	tokenLife = 7 * 24 * time.Hour
)

// Account gives a program on this host the rights that it has in a cluster, and no more: it applies the account and the roles of a plain
// manifest of config/, and returns a kubeconfig of that account. It may be repeated.
func (l *Lab) Account(ctx context.Context, manifest, account string) (string, error) {
	file := filepath.Join(l.Cluster.Layout().State(), "accounts", account)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := l.applySome(ctx, SystemNamespace, l.File("config", manifest+".yaml"), isRight); err != nil {
		return "", err
	}
	return file, l.writeAccount(ctx, account, file)
}

// isRight leaves out what runs and what serves.
func isRight(object *unstructured.Unstructured) bool {
	kind := object.GetKind()
	return kind == "Namespace" || kind == "ServiceAccount" || strings.HasSuffix(kind, "Role") || strings.HasSuffix(kind, "RoleBinding")
}

// writeAccount makes the administrator's kubeconfig that of an account.
func (l *Lab) writeAccount(ctx context.Context, account, file string) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLife.Seconds()))}}
	answer, err := l.Kube.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking for a token of %s: %w", account, err)
	}
	config, err := clientcmd.LoadFromFile(l.Cluster.KubeconfigPath())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: answer.Status.Token}
	}
	return clientcmd.WriteToFile(*config, file)
}
