package framework

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// configurationPrefix is the prefix of the names of most webhook configurations.
const configurationPrefix = "e2e-"

// ApplyWebhooks applies the webhook configurations of a manifest. It directs them to the JobSet manager at this host's
// address and the given port.
func (env *Environment) ApplyWebhooks(ctx context.Context, file string, port int) error {
	return env.applyWebhooks(ctx, file, configurationPrefix, port, podsOfJobSets)
}

// applyWebhooks is like ApplyWebhooks, with a function that restricts each webhook as an installation would. The API
// server calls mutating webhooks in the order of their configurations' names, which begin with prefix.
func (env *Environment) applyWebhooks(ctx context.Context, file, prefix string, port int, narrow func(hook map[string]any)) error {
	ca, err := env.Cluster.Authority()
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
		configuration.SetName(prefix + configuration.GetName())
		hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		for _, hook := range hooks {
			direct(hook.(map[string]any), fmt.Sprintf("https://%s:%d", env.Cluster.HostAddress(), port), ca)
			narrow(hook.(map[string]any))
		}
		if err := unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"); err != nil {
			return err
		}
		err := env.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s: %w", configuration.GetName(), err)
		}
	}
	return nil
}

// direct sets the URL of a webhook.
func direct(hook map[string]any, url string, ca []byte) {
	path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
	hook["clientConfig"] = map[string]any{"url": url + path, "caBundle": base64.StdEncoding.EncodeToString(ca)}
}

// podsOfJobSets limits a webhook for pods to those with the JobSet label, as the upstream installation does, unless the
// manifest has its own selector.
func podsOfJobSets(hook map[string]any) { podsWith(hook, v1alpha2.JobSetNameKey) }

// podsWith limits a webhook for pods to those with the label.
func podsWith(hook map[string]any, label string) {
	rules, _, _ := unstructured.NestedSlice(hook, "rules")
	resources, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), "resources")
	if slices.Contains(resources, "pods") && hook["objectSelector"] == nil {
		hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": label, "operator": "Exists"}}}
	}
}

// RemoveWebhooks removes all webhook configurations of this package, and those kept from an uninstalled chart. Call it
// before the manager stops. Otherwise, no objects could be created or deleted.
func (env *Environment) RemoveWebhooks(ctx context.Context) error {
	for _, list := range []client.ObjectList{&admissionv1.MutatingWebhookConfigurationList{}, &admissionv1.ValidatingWebhookConfigurationList{}} {
		if err := env.Client.List(ctx, list); err != nil {
			return fmt.Errorf("listing the webhooks: %w", err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			configuration := o.(client.Object)
			kept := configuration.GetAnnotations()["helm.sh/resource-policy"] == "keep" // by a chart that has been uninstalled
			of := func(prefix string) bool { return strings.HasPrefix(configuration.GetName(), prefix) }
			if !kept && !of(configurationPrefix) && !of(leaderWorkerSetPrefix) {
				return nil
			}
			return client.IgnoreNotFound(env.Client.Delete(ctx, configuration))
		})
		if err != nil {
			return fmt.Errorf("removing the webhooks: %w", err)
		}
	}
	return nil
}

// ServingFolder creates a directory with a certificate for a server at this host's address, as tls.crt and tls.key.
func (env *Environment) ServingFolder() (string, error) {
	folder, err := os.MkdirTemp("", "holdfast-serving-")
	if err != nil {
		return "", err
	}
	return folder, env.certify(folder)
}

// servingFolder returns the directory for a program that may be restarted. While the environment is open, the directory
// does not change, and therefore neither does the program's command.
func (env *Environment) servingFolder(program string) (string, error) {
	if folder, made := env.serving[program]; made {
		return folder, nil
	}
	folder, err := env.ServingFolder()
	if err == nil {
		env.serving[program] = folder
	}
	return folder, err
}

func (env *Environment) certify(folder string) error {
	pair, err := env.Cluster.ServingCertificate(env.Cluster.HostAddress())
	if err != nil {
		return err
	}
	for file, content := range map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key} {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
