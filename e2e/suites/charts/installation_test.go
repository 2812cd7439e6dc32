//go:build e2e

package charts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

// samples is the namespace of all sample objects, which outlive their chart.
const samples = "e2e-charts-samples"

// installation is a release of a chart.
type installation struct {
	*testing.T
	chart
	release helm.Release
}

// install installs a chart in a namespace that accepts only restricted pods, and returns once Helm reports that
// everything is ready.
func install(t *testing.T, c chart, namespace string) *installation {
	t.Helper()
	i := &installation{T: t, chart: c, release: helm.Release{
		Name: namespace, Namespace: namespace, Chart: shared.File("charts", c.name),
		Kubeconfig: shared.Cluster.KubeconfigPath(), Adopt: true, Patience: 5 * time.Minute,
	}}
	for name, labels := range map[string]string{
		namespace: "pod-security.kubernetes.io/enforce: restricted", samples: "holdfast.dev/rescheduling: enabled",
	} {
		i.OK(shared.Namespace(t.Context(), name))
		key, value, _ := strings.Cut(labels, ": ")
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value))
		i.OK(shared.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch))
	}
	t.Cleanup(func() {
		if err := errors.Join(i.release.Uninstall(), shared.RemoveWebhooks(context.Background())); err != nil {
			t.Error(err)
		}
	})
	i.OK(i.release.Install(t.Context(), c.all(nil)))
	return i
}

// OK ends the test if err is not nil.
func (i *installation) OK(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

func (i *installation) until(what string, ask func(context.Context) error) {
	i.Helper()
	i.OK(framework.Until(i.Context(), what, ask))
}

// running returns the pods of the release that are not being deleted.
func (i *installation) running(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := shared.Client.List(ctx, &list, client.InNamespace(i.release.Namespace), client.MatchingLabels{"app.kubernetes.io/instance": i.release.Name})
	var found []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			found = append(found, pod)
		}
	}
	return found, err
}

// awaitPods waits until the expected number of pods is ready. It fails if a container has restarted.
func (i *installation) awaitPods() {
	i.Helper()
	i.until(fmt.Sprintf("%d pods of %s are ready", i.pods, i.name), func(ctx context.Context) error {
		pods, err := i.running(ctx)
		if err != nil || len(pods) != i.pods {
			return fmt.Errorf("found %d pods (%v)", len(pods), err)
		}
		for _, pod := range pods {
			for _, c := range pod.Status.ContainerStatuses {
				if c.RestartCount > 0 {
					i.Fatalf("%s/%s was restarted: %+v", pod.Name, c.Name, c.LastTerminationState)
				}
				if !c.Ready {
					return fmt.Errorf("%s/%s is not ready", pod.Name, c.Name)
				}
			}
		}
		return nil
	})
}

func (i *installation) podUIDs() map[types.UID]bool {
	i.Helper()
	pods, err := i.running(i.Context())
	i.OK(err)
	found := map[types.UID]bool{}
	for _, pod := range pods {
		found[pod.UID] = true
	}
	return found
}

// checkNothingForbidden fails the test if a log shows that RBAC refused a request.
func (i *installation) checkNothingForbidden() {
	i.Helper()
	pods, err := i.running(i.Context())
	i.OK(err)
	for _, pod := range pods {
		for _, c := range pod.Spec.Containers {
			log, err := shared.Kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: c.Name}).DoRaw(i.Context())
			i.OK(err)
			for line := range strings.Lines(string(log)) {
				if strings.Contains(line, "forbidden") {
					i.Errorf("%s/%s: %s", pod.Name, c.Name, line)
				}
			}
		}
	}
}

// object returns the sample under the given name.
func (i *installation) object(name string) *unstructured.Unstructured {
	i.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", i.sample))
	i.OK(err)
	o := &unstructured.Unstructured{}
	i.OK(yaml.Unmarshal([]byte(strings.ReplaceAll(string(content), "sample", name)), &o.Object))
	o.SetNamespace(samples)
	return o
}

// apply creates a sample. It retries, because for a moment the API server may not trust the webhook's certificate yet,
// and rejects everything.
func (i *installation) apply(name string) {
	i.Helper()
	i.until(i.name+" accepts its sample", func(ctx context.Context) error { return shared.Client.Create(ctx, i.object(name)) })
}

func (i *installation) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	o := i.object(name)
	return o, shared.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
}

func (i *installation) uid(name string) types.UID {
	i.Helper()
	o, err := i.get(i.Context(), name)
	i.OK(err)
	if !o.GetDeletionTimestamp().IsZero() {
		i.Errorf("%s is being deleted", name)
	}
	return o.GetUID()
}

func (i *installation) awaitWorked(name string) {
	i.Helper()
	i.until(i.name+" has handled "+name, func(ctx context.Context) error {
		o, err := i.get(ctx, name)
		if err != nil {
			return err
		}
		return i.worked(o)
	})
}

// remove deletes a sample and returns once it is gone. Finalizers may keep it until its controller has cleaned up.
func (i *installation) remove(name string) {
	i.Helper()
	i.OK(client.IgnoreNotFound(shared.Client.Delete(i.Context(), i.object(name), client.PropagationPolicy(metav1.DeletePropagationForeground))))
	i.until(name+" of "+i.name+" is gone", func(ctx context.Context) error {
		if _, err := i.get(ctx, name); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.New("it still exists")
		}
		return nil
	})
}

// definition returns the UID of the chart's CRD, or "" if the chart has none.
func (i *installation) definition() types.UID {
	i.Helper()
	if i.crd == "" {
		return ""
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	i.OK(shared.Client.Get(i.Context(), client.ObjectKey{Name: i.crd}, crd))
	if !crd.DeletionTimestamp.IsZero() {
		i.Error("the definition is being deleted")
	}
	return crd.UID
}

// awaitNothingLeft waits until no object of any kind has the release's label, except for those that the chart tells
// Helm to keep.
func (i *installation) awaitNothingLeft() {
	i.Helper()
	kinds := i.kinds()
	i.until("nothing of "+i.release.Name+" is left", func(ctx context.Context) error {
		for _, kind := range kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind)
			if err := shared.Client.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/instance": i.release.Name}); err != nil {
				return err
			}
			for _, o := range list.Items {
				if o.Annotations["helm.sh/resource-policy"] != "keep" {
					return fmt.Errorf("%s %s is left", kind.Kind, o.Name)
				}
			}
		}
		return nil
	})
}

// kinds returns all kinds that the API server can list.
func (i *installation) kinds() []schema.GroupVersionKind {
	i.Helper()
	lists, err := shared.Kube.Discovery().ServerPreferredResources()
	i.OK(err)
	var kinds []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, r := range list.APIResources {
			kinds = append(kinds, schema.FromAPIVersionAndKind(list.GroupVersion, r.Kind))
		}
	}
	if len(kinds) < 30 {
		i.Fatalf("there are only %d kinds", len(kinds))
	}
	return kinds
}
