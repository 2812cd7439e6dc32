package lab

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// configurationPrefix begins the names of the webhook configurations here.
const configurationPrefix = "lab-"

// ApplyWebhooks tells the API server to ask a manager at this host's address and the port what a generated manifest says.
func (l *Lab) ApplyWebhooks(ctx context.Context, file string, port int) error {
	ca, err := l.Cluster.Authority()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(content), "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		configuration := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &configuration.Object); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		configuration.SetName(configurationPrefix + strings.ToLower(configuration.GetKind()))
		hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		for _, hook := range hooks {
			direct(hook.(map[string]any), fmt.Sprintf("https://%s:%d", l.Cluster.HostAddress(), port), ca)
		}
		if err := unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"); err != nil {
			return err
		}
		err := l.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s: %w", configuration.GetName(), err)
		}
	}
	return nil
}

// direct leads a webhook to a URL. Pods are asked about by the label of JobSets, which is the published installation's doing, unless the
// manifest says more.
func direct(hook map[string]any, url string, ca []byte) {
	path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
	hook["clientConfig"] = map[string]any{"url": url + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
	rules, _, _ := unstructured.NestedSlice(hook, "rules")
	resources, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), "resources")
	if slices.Contains(resources, "pods") && hook["objectSelector"] == nil {
		hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": v1alpha2.JobSetNameKey, "operator": "Exists"}}}
	}
}

// RemoveWebhooks takes back what ApplyWebhooks did. It goes before the end of the manager: without its answer nothing could be
// created or deleted.
func (l *Lab) RemoveWebhooks(ctx context.Context) error {
	for _, object := range []client.Object{&admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}} {
		kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1."))
		object.SetName(configurationPrefix + kind)
		if err := l.Client.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the webhooks: %w", err)
		}
	}
	return nil
}

// ServingFolder makes a folder with a certificate, as tls.crt and tls.key, for a server at this host's address.
func (l *Lab) ServingFolder() (string, error) {
	pair, err := l.Cluster.ServingCertificate(l.Cluster.HostAddress())
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "holdfast-serving-")
	if err != nil {
		return "", err
	}
	for file, content := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}
