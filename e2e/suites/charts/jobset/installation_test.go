//go:build e2e

package jobset

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// installation is the release under test and the JobSet that it runs.
type installation struct {
	*testing.T
	*framework.Environment
	release helm.Release
	ctx     context.Context
}

func start(t *testing.T) *installation {
	t.Helper()
	c := &installation{T: t, Environment: shared, ctx: t.Context(), release: helm.Release{
		Name: releaseName, Namespace: namespace, Chart: shared.File("charts", "jobset-controller"),
		Kubeconfig: shared.Cluster.KubeconfigPath(), Adopt: true, Patience: 5 * time.Minute, // the kubelet takes a while to mount the certificate into the pod
	}}
	c.cleanUp()
	c.must(c.Namespace(c.ctx, jobs))
	patch := client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`))
	for _, name := range []string{namespace, restricted} {
		c.must(c.Namespace(c.ctx, name))
		c.must(c.Client.Patch(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch))
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.dump()
		}
		c.cleanUp()
	})
	return c
}

// cleanUp removes the JobSet and the release. It keeps the CRD for others.
func (c *installation) cleanUp() {
	c.Helper()
	ctx := context.Background() // the test's context may be done
	c.must(c.release.Uninstall())
	c.must(c.RemoveWebhooks(ctx)) // nothing serves them any more
	for ns, name := range map[string]string{jobs: guarded, restricted: supervised} {
		if err := c.Remove(ctx, ns, name); err != nil && !strings.Contains(err.Error(), "no matches for kind") {
			c.Error(err)
		}
	}
}

// step runs a subtest. It is skipped if an earlier step has failed.
func (c *installation) step(name string, do func()) {
	c.Helper()
	parent := c.T
	passed := parent.Run(name, func(t *testing.T) {
		c.T, c.ctx = t, t.Context()
		do()
	})
	c.T, c.ctx = parent, parent.Context()
	if !passed {
		c.FailNow()
	}
}

func (c *installation) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// pod waits until a component has exactly one pod, ignoring pods that are being deleted, and returns it.
func (c *installation) pod(component string) corev1.Pod {
	c.Helper()
	var found []corev1.Pod
	c.must(framework.Until(c.ctx, "there is one pod of the "+component, func(ctx context.Context) error {
		var list corev1.PodList
		err := c.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": component})
		found = nil
		for _, pod := range list.Items {
			if pod.DeletionTimestamp.IsZero() {
				found = append(found, pod)
			}
		}
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("there are %d", len(found))
		}
		return err
	}))
	return found[0]
}

// uid returns the user ID of a container's process.
func (c *installation) uid(pod corev1.Pod, container string) int {
	c.Helper()
	pid, err := c.Cluster.ContainerPID(c.ctx, string(pod.UID), container)
	c.must(err)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	c.must(err)
	var uid int
	for _, line := range strings.Split(string(status), "\n") {
		if _, err := fmt.Sscanf(line, "Uid: %d", &uid); err == nil {
			return uid
		}
	}
	c.Fatalf("process %d has no user", pid)
	return 0
}

// checkNothingForbidden fails the test if a log shows that RBAC refused a request.
func (c *installation) checkNothingForbidden(pod corev1.Pod, containers ...string) {
	c.Helper()
	for _, container := range containers {
		raw, err := c.Kube.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(c.ctx)
		c.must(err)
		for _, line := range strings.Split(string(raw), "\n") {
			if strings.Contains(line, "forbidden") {
				c.Errorf("%s: %s", container, line)
			}
		}
	}
}

// checkRefusal checks that the webhook rejects an invalid JobSet and names the field. It retries, because for a moment
// the API server may not trust the webhook's certificate yet, and rejects everything.
func (c *installation) checkRefusal() {
	c.Helper()
	js, err := c.Load(jobs, c.File("examples", "in-place-restart.yaml"))
	c.must(err)
	js.Name = "bad"
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = "60"
	c.must(framework.Until(c.ctx, "the webhook rejects the JobSet", func(ctx context.Context) error {
		err := c.Client.Create(ctx, js)
		if err == nil {
			c.Fatal("a JobSet with an invalid timeout was accepted")
		}
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("it is rejected for another reason: %w", err)
		}
		for _, part := range []string{"vjobset.kb.io", `metadata.annotations[` + v1alpha2.InPlaceTimeoutKey + `]: Invalid value: "60"`} {
			if !strings.Contains(err.Error(), part) {
				c.Errorf("the rejection does not contain %s: %v", part, err)
			}
		}
		c.Logf("refused: %v", err)
		return nil
	}))
}

// startJobSet starts the example with four workers, whose agents use the chart's store. It returns once they are in
// sync.
func (c *installation) startJobSet() (*v1alpha2.JobSet, map[string]framework.Worker) {
	c.Helper()
	js, err := c.Load(jobs, c.File("examples", "in-place-restart-guarded.yaml"))
	c.must(err)
	js.Name = guarded
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](size), ptr.To[int32](size)
	args := spec.Template.Spec.InitContainers[0].Args
	for i, arg := range args {
		if strings.HasPrefix(arg, "--valkey-address=") {
			args[i] = fmt.Sprintf("--valkey-address=valkey.%s.svc.cluster.local:6379", namespace)
		}
	}
	c.must(c.Client.Create(c.ctx, js))
	workers, err := c.AwaitWorkers(c.ctx, jobs, js.Name, size)
	c.must(err)
	c.awaitRound(js, 0)
	return js, workers
}

// awaitRound reads the chart's store by the IP of its pod, because the host does not resolve names of the cluster.
func (c *installation) awaitRound(js *v1alpha2.JobSet, round int64) {
	c.Helper()
	store := c.store(orchestratorUser, c.secret(namespace, fullname+"-valkey-password"))
	defer store.Close()
	own := *c.Environment
	own.Store = store
	_, err := own.AwaitPhase(c.ctx, js, coordination.Running, 1, round)
	c.must(err)
	c.must(c.AwaitAnnotation(c.ctx, js, v1alpha2.InPlaceRestartsKey, fmt.Sprint(round)))
}

func (c *installation) signal(workers map[string]framework.Worker, n int, s unix.Signal) {
	c.Helper()
	_, err := c.Signal(c.ctx, workers[framework.IDs(workers)[n]], s)
	c.must(err)
}

// awaitRestarted returns the workers once each has restarted once more in its pod.
func (c *installation) awaitRestarted(js *v1alpha2.JobSet, before map[string]framework.Worker) map[string]framework.Worker {
	c.Helper()
	var after map[string]framework.Worker
	c.must(framework.Until(c.ctx, "every worker was restarted in its pod", func(ctx context.Context) error {
		var err error
		if after, err = c.Workers(ctx, jobs, js.Name); err != nil {
			return err
		}
		for id, was := range before {
			if is := after[id]; is.PodUID != was.PodUID || is.Restarts != was.Restarts+1 || !is.Ready {
				return fmt.Errorf("worker %s is %+v, was %+v", id, is, was)
			}
		}
		return nil
	}))
	return after
}

// checkUntouched checks that every worker still runs in the same container.
func (c *installation) checkUntouched(js *v1alpha2.JobSet, before map[string]framework.Worker) {
	c.Helper()
	after, err := c.Workers(c.ctx, jobs, js.Name)
	c.must(err)
	for id, was := range before {
		if is := after[id]; is != was {
			c.Errorf("worker %s is %+v, was %+v", id, is, was)
		}
	}
}

// checkUninstalled checks that the CRD, its JobSets, the webhook configurations and the Secrets of the store are kept.
// Without the configurations, JobSets could be created that no webhook has validated. Everything else with the
// release's label must be gone.
func (c *installation) checkUninstalled() {
	c.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	c.must(c.Client.Get(c.ctx, client.ObjectKey{Name: "jobsets.jobset.x-k8s.io"}, crd))
	if !crd.GetDeletionTimestamp().IsZero() {
		c.Error("the definition is being deleted")
	}
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		kept := &unstructured.UnstructuredList{}
		kept.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		c.must(c.Client.List(c.ctx, kept, client.MatchingLabels{"app.kubernetes.io/instance": releaseName}))
		if len(kept.Items) != 1 {
			c.Errorf("%d of %s are left, want 1", len(kept.Items), kind)
		}
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Secret"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	} {
		c.must(framework.Until(c.ctx, "no "+gvk.Kind+" of the release is left", func(ctx context.Context) error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk)
			err := c.Client.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/instance": releaseName})
			for _, o := range list.Items {
				if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" { // agents trust the store's certificate
					err = fmt.Errorf("%s is left", o.GetName())
				}
			}
			return err
		}))
	}
}

// dump logs the state of the release after a failure.
func (c *installation) dump() {
	for _, args := range [][]string{
		{"-n", namespace, "get", "all", "-o", "wide"},
		{"-n", namespace, "get", "events"},
		{"-n", namespace, "logs", "deploy/" + fullname, "--all-containers", "--tail=40"},
		{"-n", namespace, "logs", "deploy/" + fullname, "-c", "manager", "--previous", "--tail=20"},
		{"-n", namespace, "logs", "deploy/" + fullname, "-c", "orchestrator", "--previous", "--tail=20"},
		{"-n", namespace, "logs", "statefulset/" + fullname + "-valkey", "--tail=20"},
		{"-n", jobs, "get", "jobset,job,pod", "-o", "wide"},
		{"-n", restricted, "get", "jobset,job,pod", "-o", "wide"},
		{"-n", restricted, "logs", "-l", "jobset.sigs.k8s.io/jobset-name=" + supervised, "--tail=20", "--prefix"},
		{"-n", restricted, "get", "events"},
		{"-n", jobs, "logs", "-l", "jobset.sigs.k8s.io/jobset-name=" + guarded, "-c", "agent", "--tail=20", "--prefix"},
	} {
		all := append([]string{"--kubeconfig", c.Cluster.KubeconfigPath()}, args...)
		out, _ := exec.CommandContext(context.Background(), "kubectl", all...).CombinedOutput() // best effort: kubectl may be missing
		c.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}
