package charts

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var webhookFile = filepath.Join(jobSetChart, "files", "webhook", "manifests.yaml")

const (
	validating = "ValidatingWebhookConfiguration"
	mutating   = "MutatingWebhookConfiguration"
)

// ofPods reports whether the API server calls the webhook for pods.
func ofPods(w admissionv1.ValidatingWebhook) bool {
	return slices.Contains(w.Rules[0].Resources, "pods")
}

// The webhooks' rules are generated from the code. The chart adds the Service and the conditions under which the webhooks skip an object.
func TestJobSetWebhooksMatchMarkers(t *testing.T) {
	for name, values := range settings {
		for _, kind := range []string{validating, mutating} {
			t.Run(name+", "+kind, func(t *testing.T) {
				generated := parse(t, webhookFile, string(mustRead(t, webhookFile))).named(t, kind, "")
				want := as[admissionv1.ValidatingWebhookConfiguration](t, generated) // a mutating configuration has these fields too
				got := as[admissionv1.ValidatingWebhookConfiguration](t, mustParse(t, jobSetChart, values).named(t, kind, ""))
				if got.Name != want.Name {
					t.Errorf("it is %s, want %s", got.Name, want.Name)
				}
				for i := range want.Webhooks {
					want.Webhooks[i].ClientConfig.Service.Namespace = "holdfast"
				}
				for i := range got.Webhooks {
					w := &got.Webhooks[i]
					if len(w.MatchConditions) == 0 || w.TimeoutSeconds == nil {
						t.Errorf("%s: conditions %v, timeout %v", w.Name, w.MatchConditions, w.TimeoutSeconds)
					}
					if w.TimeoutSeconds = nil; !ofPods(*w) {
						w.MatchConditions = nil
					}
				}
				if diff := cmp.Diff(want.Webhooks, got.Webhooks); diff != "" {
					t.Errorf("differs from the generated one (-marker +chart):\n%s", diff)
				}
			})
		}
	}
}

// Pods with exclusive placement must pass the webhook regardless of who creates them. The orchestrator, which replaces lost pods, uses the
// release's service account. The webhook must not be called for other pods.
func TestPodWebhookIsOnlyForExclusivePlacement(t *testing.T) {
	const values = `webhook: {failurePolicy: Ignore, namespaceSelector: {matchLabels: {train: "yes"}}}`
	asked := 0
	for _, kind := range []string{validating, mutating} {
		for _, w := range as[admissionv1.ValidatingWebhookConfiguration](t, mustParse(t, jobSetChart, values).named(t, kind, "")).Webhooks {
			if !ofPods(w) {
				continue
			}
			asked++
			conditions := fmt.Sprint(w.MatchConditions)
			if !strings.Contains(conditions, "exclusive-topology") || strings.Contains(conditions, "userInfo") {
				t.Errorf("%s has match conditions %s", w.Name, conditions)
			}
			if w.NamespaceSelector != nil || *w.FailurePolicy != admissionv1.Fail || len(w.ObjectSelector.MatchExpressions) != 1 {
				t.Errorf("%s: %+v", w.Name, w)
			}
		}
	}
	if asked != 2 {
		t.Errorf("%d webhooks for pods", asked)
	}
}

func TestWebhookSettings(t *testing.T) {
	const values = `
webhook: {failurePolicy: Ignore, timeoutSeconds: 3, namespaceSelector: {matchLabels: {train: "yes"}}}
serviceAccount: {name: me}
`
	got := as[admissionv1.ValidatingWebhookConfiguration](t, mustParse(t, jobSetChart, values).named(t, validating, ""))
	for _, w := range got.Webhooks {
		if ofPods(w) {
			continue
		}
		if *w.FailurePolicy != admissionv1.Ignore || *w.TimeoutSeconds != 3 || w.NamespaceSelector.MatchLabels["train"] != "yes" {
			t.Errorf("got %+v", w)
		}
		own := "request.userInfo.username != 'system:serviceaccount:holdfast:me'"
		if !slices.ContainsFunc(w.MatchConditions, func(c admissionv1.MatchCondition) bool { return c.Expression == own }) {
			t.Errorf("requests of the controllers match their own webhook: %v", w.MatchConditions)
		}
	}
}

// The Service has the name in the certificate, and targets the port in the manager's flag.
func TestWebhookServiceSelectsManager(t *testing.T) {
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, values)
			configuration := as[admissionv1.ValidatingWebhookConfiguration](t, all.named(t, validating, ""))
			service := as[corev1.Service](t, all.named(t, "Service", configuration.Webhooks[0].ClientConfig.Service.Name))
			if port := service.Spec.Ports[0]; port.Port != 443 || port.TargetPort != intstr.FromString("webhook") {
				t.Errorf("the Service has port %+v", port)
			}
			manager := all.container(t, "manager")
			at := slices.IndexFunc(manager.Ports, func(p corev1.ContainerPort) bool { return p.Name == "webhook" })
			if at < 0 || !slices.Contains(manager.Args, fmt.Sprintf("--webhook-port=%d", manager.Ports[at].ContainerPort)) {
				t.Errorf("ports %v, arguments %q", manager.Ports, manager.Args)
			}
			selector := labels.SelectorFromSet(service.Spec.Selector)
			for pod, template := range all.podTemplates(t) {
				isManager := template.Spec.Containers[0].Name == "manager"
				if selector.Matches(labels.Set(template.Labels)) != isManager {
					t.Errorf("the Service selects pod %s: %v", pod, !isManager)
				}
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		kinds  []string // kinds of the objects that the chart creates for the certificates
		secret string   // name of the mounted Secret
		given  bool     // whether another program provides the certificates
	}{
		"created by the manager":                 {``, []string{"Secret"}, "", false},
		"created by cert-manager":                {`certificates: {mode: certManager}`, []string{"Issuer", "Certificate"}, "jobset-webhook-server-cert", true},
		"created by cert-manager with an issuer": {`{certificates: {mode: certManager}, certManager: {issuerRef: {name: ours}}}`, []string{"Certificate"}, "jobset-webhook-server-cert", true},
		"provided by the user":                   {`certificates: {mode: existingSecret, existingSecret: mine, caBundle: Y2E=}`, nil, "mine", true},
		"none":                                   {`webhook: {enabled: false}`, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, c.values)
			for _, kind := range []string{"Secret", "Issuer", "Certificate"} {
				if there := len(all.find(kind)) == 1; there != slices.Contains(c.kinds, kind) {
					t.Errorf("%s: %v", kind, there)
				}
			}
			manager := all.container(t, "manager")
			given := slices.ContainsFunc(manager.Args, func(arg string) bool { return strings.HasPrefix(arg, "--webhook-cert-dir=") })
			if given != c.given {
				t.Errorf("the manager gets certificates: %v; %q", given, manager.Args)
			}
			if secret := mountedSecret(t, all, "/tmp/k8s-webhook-server/serving-certs"); secret != c.secret {
				t.Errorf("Secret %q is mounted, want %q", secret, c.secret)
			}
		})
	}
}

// mountedSecret returns the name of the Secret that the manager mounts, or "" if the manager itself writes to the directory.
func mountedSecret(t *testing.T, all objects, folder string) string {
	t.Helper()
	for _, template := range all.podTemplates(t) {
		for _, mount := range template.Spec.Containers[0].VolumeMounts {
			for _, volume := range template.Spec.Volumes {
				if mount.MountPath != folder || volume.Name != mount.Name {
					continue
				}
				if writable := volume.EmptyDir != nil; writable == mount.ReadOnly {
					t.Errorf("%s is read-only: %v", folder, mount.ReadOnly)
				}
				if volume.Secret != nil {
					return volume.Secret.SecretName
				}
			}
		}
	}
	return ""
}

// If the chart rendered data, each upgrade would overwrite the certificate in the Secret.
func TestCertificateSecretHasNoData(t *testing.T) {
	secret := as[corev1.Secret](t, mustParse(t, jobSetChart, "").find("Secret")[0])
	if secret.Data != nil || secret.StringData != nil {
		t.Errorf("it has %v %v", secret.Data, secret.StringData)
	}
}

// The chart uses the names that the manager expects.
func TestManagerUsesNamesOfChart(t *testing.T) {
	manager := string(mustRead(t, filepath.Join("..", "jobset-controller", "internal", "app", "options.go")))
	served := regexp.MustCompile(`ServeWebhooks\("(.*)"\)`).FindStringSubmatch(manager)
	if served == nil {
		t.Fatal("the manager serves no webhooks")
	}
	options := string(mustRead(t, filepath.Join("..", "shared", "bootstrap", "options.go")))
	all := mustParse(t, jobSetChart, "")
	for field, got := range map[string]string{
		"ServiceName": all.named(t, "Service", "webhook-service").GetName(),
		"SecretName":  all.find("Secret")[0].GetName(),
		"Validating":  all.find(validating)[0].GetName(),
		"Mutating":    all.find(mutating)[0].GetName(),
	} {
		match := regexp.MustCompile(`Certificates\.` + field + ` = .*prefix \+ "([^"]*)"`).FindStringSubmatch(options)
		if match == nil || served[1]+match[1] != got {
			t.Errorf("%s ends with %q in the code, and is %s in the chart", field, match, got)
		}
	}
}

// cert-manager injects the CA into annotated configurations. Without cert-manager, the user or the manager does this.
func TestWebhookCABundle(t *testing.T) {
	for name, c := range map[string]struct {
		values, from string
		bundle       []byte
	}{
		"set by the manager":  {``, "", nil},
		"set by cert-manager": {`certificates: {mode: certManager}`, "holdfast/test-jobset-controller-webhook", nil},
		"set by the user":     {`certificates: {mode: existingSecret, existingSecret: mine, caBundle: Y2E=}`, "", []byte("ca")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{validating, mutating} {
				got := as[admissionv1.ValidatingWebhookConfiguration](t, mustParse(t, jobSetChart, c.values).named(t, kind, ""))
				if from := got.Annotations["cert-manager.io/inject-ca-from"]; from != c.from {
					t.Errorf("from %q, want %q", from, c.from)
				}
				for _, w := range got.Webhooks {
					if diff := cmp.Diff(c.bundle, w.ClientConfig.CABundle); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
	all := mustParse(t, jobSetChart, `certificates: {mode: certManager}`)
	certificate := all.find("Certificate")[0]
	if certificate.GetNamespace()+"/"+certificate.GetName() != "holdfast/test-jobset-controller-webhook" {
		t.Errorf("the Certificate is %s/%s", certificate.GetNamespace(), certificate.GetName())
	}
}

func TestWebhooksCanBeDisabled(t *testing.T) {
	all := mustParse(t, jobSetChart, `webhook: {enabled: false}`)
	if n := len(all.find(validating)) + len(all.find(mutating)) + len(all.find("Service")) - 1; n != 0 { // one of the Services is for metrics
		t.Errorf("%d objects", n)
	}
	if args := strings.Join(all.container(t, "manager").Args, " "); strings.Contains(args, "webhook") {
		t.Errorf("arguments %s", args)
	}
	for _, template := range all.podTemplates(t) {
		if len(template.Spec.Volumes) != 0 {
			t.Errorf("volumes %v", template.Spec.Volumes)
		}
	}
}
