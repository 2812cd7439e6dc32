//go:build e2e

package testbed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestWebhookInTheCluster(t *testing.T) {
	ns := namespace(t, "webhook")
	pod := probe(t, "node-2", "webhook", "webhook", ":8443", "/tls/tls.crt", "/tls/tls.key")
	pod.Spec.Volumes = []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "webhook"},
	}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/tls"}}
	serving(t, ns)
	runPod(t, ns, pod)
	service(t, ns, "webhook", corev1.ServiceTypeClusterIP, 443, 8443)
	awaitReady(t, ns, "webhook")
	configure(t, ns)

	until(t, "the webhook denies", func(ctx context.Context) error {
		err := createConfigMap(ctx, ns, map[string]string{"forbidden": "yes"})
		if err == nil {
			return errors.New("it is not called yet")
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the probe forbids this") {
			return fmt.Errorf("rejected for another reason: %w", err)
		}
		return nil
	})
	until(t, "the webhook admits", func(ctx context.Context) error { return createConfigMap(ctx, ns, nil) })
}

// serving creates a Secret with the webhook's certificate.
func serving(t *testing.T, ns string) {
	t.Helper()
	pair, err := cluster.ServingCertificate("webhook." + ns + ".svc")
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "webhook"},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// configure makes the API server call the webhook only for ConfigMaps in the namespace.
func configure(t *testing.T, ns string) {
	t.Helper()
	ca, err := cluster.Authority()
	if err != nil {
		t.Fatal(err)
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	t.Cleanup(func() { _ = configurations.Delete(context.Background(), ns, metav1.DeleteOptions{}) })
	_, err = configurations.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "probe.holdfast.dev",
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: ns, Name: "webhook"}, CABundle: ca,
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func createConfigMap(ctx context.Context, ns string, labels map[string]string) error {
	_, err := client.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probed-", Labels: labels},
	}, metav1.CreateOptions{})
	return err
}
