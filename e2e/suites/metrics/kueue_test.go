//go:build e2e

package metrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

const (
	kueueMetrics = "https://127.0.0.1:18744/metrics" // the testbed's
	scraper      = "metrics-scraper"
)

// kueueProxy serves Kueue's metrics without authentication, because Kueue itself requires a token.
func kueueProxy(t *testing.T) string {
	t.Helper()
	token := scraperToken(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, kueueMetrics, nil)
		if err == nil {
			request.Header.Set("Authorization", "Bearer "+token)
			var answer *http.Response
			if answer, err = insecure.Do(request); err == nil {
				defer answer.Body.Close()
				w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
				w.WriteHeader(answer.StatusCode)
				_, err = io.Copy(w, answer.Body)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func scraperToken(t *testing.T) string {
	t.Helper()
	name := metav1.ObjectMeta{Name: scraper, Namespace: ns}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: name},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: scraper}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: scraper}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: scraper},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: scraper, Namespace: ns}},
		},
	} {
		must(t, k8s.Create(t.Context(), object))
		t.Cleanup(func() { _ = k8s.Delete(context.Background(), object) })
	}
	answer, err := shared.Kube.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), scraper, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	return answer.Status.Token
}

// evict evicts every admitted workload, as an administrator would.
func evict(t *testing.T) {
	t.Helper()
	must(t, framework.Until(t.Context(), "a workload is evicted", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
		list.SetKind("WorkloadList")
		if err := k8s.List(ctx, list, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, w := range list.Items {
			if err := k8s.Patch(ctx, &w, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"active":false}}`))); err != nil {
				return err
			}
		}
		return nil
	}))
}
