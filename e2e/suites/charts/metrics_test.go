//go:build e2e

package charts

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// insecure accepts any certificate, because the manager's certificate for metrics is self-signed.
var insecure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// checkMetrics checks that only accounts with the chart's role can read the metrics.
func (i *installation) checkMetrics() {
	i.Helper()
	url := "https://" + i.managerIP() + ":8443/metrics"
	if code, _ := i.scrape(url, ""); code != http.StatusUnauthorized {
		i.Errorf("an unauthenticated request gets the status %d", code)
	}
	if code, _ := i.scrape(url, i.token("stranger", "")); code != http.StatusForbidden {
		i.Errorf("an account without the role gets the status %d", code)
	}
	token := i.token("prometheus", i.metricsReader())
	i.until("the account with the role reads metrics", func(context.Context) error {
		if code, text := i.scrape(url, token); code != http.StatusOK || !strings.Contains(text, "holdfast_build_info{") {
			return fmt.Errorf("it gets the status %d", code)
		}
		return nil
	})
}

// managerIP returns the IP of the manager's pod.
func (i *installation) managerIP() string {
	i.Helper()
	pods, err := i.running(i.Context())
	i.OK(err)
	for _, pod := range pods {
		if pod.Labels["app.kubernetes.io/component"] == "manager" {
			return pod.Status.PodIP
		}
	}
	i.Fatal("there is no manager")
	return ""
}

func (i *installation) metricsReader() string {
	i.Helper()
	var list rbacv1.ClusterRoleList
	i.OK(shared.Client.List(i.Context(), &list, client.MatchingLabels{"app.kubernetes.io/instance": i.release.Name}))
	for _, role := range list.Items {
		if strings.HasSuffix(role.Name, "-metrics-reader") {
			return role.Name
		}
	}
	i.Fatal("there is no role for readers of metrics")
	return ""
}

// token creates an account, bound to a ClusterRole unless role is empty, and returns a token for it.
func (i *installation) token(name, role string) string {
	i.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: i.release.Namespace}}
	i.OK(shared.Client.Create(i.Context(), account))
	if role != "" {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: i.release.Name + "-" + name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: i.release.Namespace}},
		}
		i.OK(shared.Client.Create(i.Context(), binding))
		i.Cleanup(func() { _ = shared.Client.Delete(context.Background(), binding) })
	}
	answer, err := shared.Kube.CoreV1().ServiceAccounts(account.Namespace).CreateToken(i.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	i.OK(err)
	return answer.Status.Token
}

func (i *installation) scrape(url, token string) (code int, text string) {
	i.Helper()
	request, err := http.NewRequestWithContext(i.Context(), http.MethodGet, url, nil)
	i.OK(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := insecure.Do(request)
	i.OK(err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	i.OK(err)
	return response.StatusCode, string(raw)
}
