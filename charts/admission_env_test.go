//go:build envtest

package charts

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// A real API server calls webhooks that fail in different ways, and counts the failures as the alerts and dashboards assume. A panic is a
// response with status 200 and code 500, an unreachable webhook is a calling error, and a failure with failurePolicy Ignore is a skipped
// call.
func TestAPIServerCountsWebhookFailures(t *testing.T) {
	quick := rest.CopyConfig(cluster)
	quick.QPS = -1 // no client-side limit
	k8s, err := kubernetes.NewForConfig(quick)
	if err != nil {
		t.Fatal(err)
	}
	panics := &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { panic("a fault") })}
	codes := make(chan int, 64)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		panics.ServeHTTP(answer, r)
		codes <- answer.Code
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	nowhere := "https://127.0.0.1:1/"
	webhooks := []admissionv1.ValidatingWebhook{
		failing("panics", admissionv1.Fail, server.URL, authority), failing("unreachable", admissionv1.Fail, nowhere, authority),
		failing("passed", admissionv1.Ignore, nowhere, authority),
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "failing"}, Webhooks: webhooks}
	if _, err := k8s.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = k8s.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), "failing", metav1.DeleteOptions{})
	}()
	for way, want := range map[string]string{
		"panics":      rejections + `{error_type="no_error",name="panics.test.example",operation="CREATE",rejection_code="500",type="validating"}`,
		"unreachable": rejections + `{error_type="calling_webhook_error",name="unreachable.test.example",operation="CREATE",rejection_code="503",type="validating"}`,
		"passed":      skips + `{name="passed.test.example",type="validating"}`,
	} {
		awaitCounted(t, k8s, way, want)
	}
	if code := <-codes; code != http.StatusOK {
		t.Errorf("a panic returns code %d, which the alerts could use", code)
	}
}

// failing returns a webhook for ConfigMaps with the given label.
func failing(way string, policy admissionv1.FailurePolicyType, url string, authority []byte) admissionv1.ValidatingWebhook {
	none, second := admissionv1.SideEffectClassNone, int32(1)
	return admissionv1.ValidatingWebhook{
		Name: way + ".test.example", ClientConfig: admissionv1.WebhookClientConfig{URL: &url, CABundle: authority},
		FailurePolicy: &policy, SideEffects: &none, TimeoutSeconds: &second, AdmissionReviewVersions: []string{"v1"},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"way": way}},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}
}

// awaitCounted writes ConfigMaps until the API server calls the webhook and counts its failures. After that, it checks the metric's
// labels.
func awaitCounted(t *testing.T, k8s kubernetes.Interface, way, want string) {
	t.Helper()
	var metrics string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: way + "-", Labels: map[string]string{"way": way}}}
		_, _ = k8s.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{}) // any result is fine, as long as the call is counted
		raw, err := k8s.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err == nil {
			metrics = string(raw)
		}
		return strings.Contains(metrics, want), err
	})
	name, _, _ := strings.Cut(want, "{")
	lines := regexp.MustCompile(`(?m)^`+name+`.*$`).FindAllString(metrics, -1)
	if err != nil {
		t.Fatalf("%s: %v: %s is missing in\n%s", way, err, want, strings.Join(lines, "\n"))
	}
	var labels []string
	for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(lines[0], -1) {
		labels = append(labels, label[1])
	}
	if known := slices.Sorted(slices.Values(foreign[name])); fmt.Sprint(labels) != fmt.Sprint(known) {
		t.Errorf("%s has the labels %v, want %v", name, labels, known)
	}
}
