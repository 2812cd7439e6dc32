//go:build e2e

package appwrapper

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

const release = "appwrapper"

// TestTheChart installs the chart as a user does, in a namespace that accepts only restricted pods. The webhooks
// validate and default, the controller has the rights that it needs for the whole life of a workload, and AppWrappers
// survive the uninstallation.
func TestTheChart(t *testing.T) {
	b := newBench(t)
	b.OK(shared.Cluster.StopProgram(t.Context(), framework.AppWrappers)) // run only one controller at a time
	t.Cleanup(func() {
		if err := shared.StartAppWrappers(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.OK(helm.LoadAppWrapperImage(t.Context(), shared.Cluster, shared.File("bin")))
	system := b.restrictedNamespace()
	r := helm.Release{
		Name: release, Namespace: system, Chart: shared.File("charts", "appwrapper-controller"),
		Kubeconfig: shared.Cluster.KubeconfigPath(), Adopt: true, Patience: 10 * time.Minute,
	}
	t.Cleanup(func() {
		if err := r.Uninstall(); err != nil {
			t.Error(err)
		}
	})
	b.OK(r.Install(t.Context(), chartValues("")))

	b.Until("the webhook rejects an AppWrapper without pods", func(ctx context.Context) error {
		bad := b.worker("bad")
		bad.Spec.Components[0].Template.Raw = []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"}}`)
		err := k8s.Create(ctx, bad)
		if err == nil || !strings.Contains(err.Error(), "components contains no podspecs") {
			return fmt.Errorf("the response is %v", err)
		}
		return nil
	})
	b.create(b.load("job.yaml"))
	if aw := b.awaitPhase("job-example", v1beta2.Succeeded); aw.Labels[v1beta2.UserLabel] == "" {
		t.Errorf("the webhook has not recorded the user: %v", aw.Labels)
	}
	b.create(b.worker("lost"))
	b.awaitReady("lost")

	before := b.managerPod(system)
	b.OK(r.Upgrade(t.Context(), chartValues("debug")))
	b.Until("the new manager has a pod", func(context.Context) error {
		if now := b.managerPod(system); now.UID == before.UID {
			return fmt.Errorf("%s is still the old pod", now.Name)
		}
		return nil
	})
	pods, err := podsOf(t.Context(), b.NS, "lost")
	b.OK(err)
	b.OK(k8s.Delete(t.Context(), &pods[0], client.GracePeriodSeconds(0)))
	b.Until("it resets a workload created before the upgrade", func(context.Context) error {
		if n := b.get("lost").Status.Retries; n != 1 {
			return fmt.Errorf("%d resets", n)
		}
		return nil
	})
	b.awaitReady("lost")
	b.checkAllowed(system)

	b.OK(r.Uninstall())
	if aw := b.get("lost"); !aw.DeletionTimestamp.IsZero() || aw.Status.Phase != v1beta2.Running {
		t.Errorf("the AppWrapper is %s, deleted at %v", aw.Status.Phase, aw.DeletionTimestamp)
	}
	b.nothingOfTheRelease()
}

// chartValues returns values that fit a machine with two cores.
func chartValues(logLevel string) helm.Values {
	v := helm.AppWrapperValues()
	v["webhook"] = helm.Values{"timeoutSeconds": 30} // the maximum: the machine may stall
	v["resources"] = helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	if logLevel != "" {
		v["logLevel"] = logLevel
	}
	return v
}

func (b *bench) restrictedNamespace() string {
	b.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-appwrapper-system-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	b.OK(k8s.Create(b.Context(), ns))
	b.Cleanup(func() {
		if err := k8s.Delete(context.Background(), ns); err != nil {
			b.Error(err)
		}
	})
	return ns.Name
}

// managerPod returns the manager's pod, ignoring pods that are being deleted.
func (b *bench) managerPod(ns string) *corev1.Pod {
	b.Helper()
	var list corev1.PodList
	b.OK(k8s.List(b.Context(), &list, client.InNamespace(ns)))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			return &list.Items[i]
		}
	}
	b.Fatal("there is no manager")
	return nil
}

// checkAllowed fails the test if the manager's log shows that RBAC refused a request.
func (b *bench) checkAllowed(ns string) {
	b.Helper()
	var log []byte
	b.Until("the manager's log can be read", func(ctx context.Context) (err error) {
		log, err = shared.Kube.CoreV1().Pods(ns).GetLogs(b.managerPod(ns).Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		return err
	})
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "forbidden") {
			b.Error(line)
		}
	}
}

func (b *bench) nothingOfTheRelease() {
	b.Helper()
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	} {
		b.Until("no "+kind.Kind+" of the release is left", func(ctx context.Context) error {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind)
			if err := k8s.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/instance": release}); err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("%s is left", list.Items[0].Name)
			}
			return nil
		})
	}
}
