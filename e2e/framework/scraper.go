package framework

import (
	"context"
	"crypto/tls"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"
	"k8s.io/utils/ptr"
)

const scraperName = "e2e-scraper"

// Scraper returns a client for the metrics of programs that require authorization by the cluster. Its account has
// the necessary permission. It accepts any certificate, because programs on this host use self-signed ones.
func (env *Environment) Scraper(ctx context.Context) (*http.Client, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: scraperName, Namespace: "default"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: scraperName},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: scraperName},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: scraperName, Namespace: "default"}},
	}
	for _, create := range []func() error{
		func() error { return env.Client.Create(ctx, account) },
		func() error { return env.Client.Create(ctx, role) },
		func() error { return env.Client.Create(ctx, binding) },
	} {
		if err := create(); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(tokenLife.Seconds()))}}
	answer, err := env.Kube.CoreV1().ServiceAccounts("default").CreateToken(ctx, scraperName, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	tls := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // self-signed, on the loopback
	return &http.Client{Transport: transport.NewBearerAuthRoundTripper(answer.Status.Token, tls)}, nil
}
