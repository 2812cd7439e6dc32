//go:build envtest

package published

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/client-go/clientset/versioned"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/app"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &config, "../../charts/jobset-controller/files/crds"))
}

// cluster is a namespace with the upstream clients. The test simulates the Job controller and the garbage collector.
type cluster struct {
	*testing.T
	namespace string
	jobSets   versioned.Interface
	core      kubernetes.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, jobSets: versioned.NewForConfigOrDie(config), core: kubernetes.NewForConfigOrDie(config)}
	ns, err := c.core.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "published-"}}, metav1.CreateOptions{})
	c.ok(err)
	c.namespace = ns.Name
	return c
}

func (c *cluster) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// runTheirs runs the upstream controller until stop is called.
func runTheirs(t *testing.T) (stop func()) {
	t.Helper()
	theirScheme := newTheirScheme(t)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: theirScheme, Metrics: server.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(t, err)
	must(t, controllers.SetupJobSetIndexes(t.Context(), mgr.GetFieldIndexer()))
	must(t, controllers.NewJobSetReconciler(mgr.GetClient(), theirScheme, mgr.GetEventRecorder("jobset")).SetupWithManager(mgr))
	return sandbox.Run(t, mgr.Start)
}

// runOurs runs our manager with these flags until stop is called.
func runOurs(t *testing.T, flags ...string) (stop func()) {
	t.Helper()
	o, set := app.NewOptions(), pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.Flags(set)
	must(t, set.Parse(append([]string{"--webhooks=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}, flags...)))
	must(t, o.Complete(set))
	o.Registry = prometheus.NewRegistry()
	return sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, config) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// typed converts a JobSet made with our builders to the upstream types, with the upstream webhook's defaults.
func typed(t *testing.T, built *wrappers.JobSet) *theirs.JobSet {
	t.Helper()
	text, err := json.Marshal(built.Namespace("").Obj())
	must(t, err)
	js := &theirs.JobSet{}
	must(t, json.Unmarshal(text, js))
	js.Status = theirs.JobSetStatus{}
	if js.Spec.SuccessPolicy == nil {
		js.Spec.SuccessPolicy = &theirs.SuccessPolicy{Operator: theirs.OperatorAll}
	}
	if js.Spec.StartupPolicy == nil {
		js.Spec.StartupPolicy = &theirs.StartupPolicy{StartupPolicyOrder: theirs.AnyOrder}
	}
	js.Spec.Network = &theirs.Network{EnableDNSHostnames: ptr.To(true), PublishNotReadyAddresses: ptr.To(true)}
	for i := range js.Spec.ReplicatedJobs {
		job := &js.Spec.ReplicatedJobs[i].Template.Spec
		job.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		job.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	return js
}

func (c *cluster) create(built *wrappers.JobSet) {
	c.Helper()
	_, err := c.jobSets.JobsetV1alpha2().JobSets(c.namespace).Create(c.Context(), typed(c.T, built), metav1.CreateOptions{})
	c.ok(err)
}

func (c *cluster) jobSet() *theirs.JobSet {
	c.Helper()
	js, err := c.jobSets.JobsetV1alpha2().JobSets(c.namespace).Get(c.Context(), "a", metav1.GetOptions{})
	c.ok(err)
	return js
}

// change updates the JobSet as a user would, and retries after a conflict.
func (c *cluster) change(change func(*theirs.JobSet)) {
	c.Helper()
	c.ok(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		js := c.jobSet()
		change(js)
		_, err := c.jobSets.JobsetV1alpha2().JobSets(c.namespace).Update(c.Context(), js, metav1.UpdateOptions{})
		return err
	}))
}

func (c *cluster) jobs() []batchv1.Job {
	c.Helper()
	list, err := c.core.BatchV1().Jobs(c.namespace).List(c.Context(), metav1.ListOptions{})
	c.ok(err)
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// names returns each Job with its attempt, and marks those that are being deleted or suspended: "a-w-0@0 a-w-1@0-".
func (c *cluster) names() string {
	c.Helper()
	var names []string
	for _, job := range c.jobs() {
		name := job.Name + "@" + job.Labels[v1alpha2.RestartsKey]
		if !job.DeletionTimestamp.IsZero() {
			name += "-"
		}
		if ptr.Deref(job.Spec.Suspend, false) {
			name += "z"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (c *cluster) awaitJobs(want string) {
	c.Helper()
	c.eventually(func() string {
		return sandbox.Differs("jobs", want, c.names())
	})
}

// awaitCondition waits for "Type=Status/Reason".
func (c *cluster) awaitCondition(want string) {
	c.Helper()
	c.eventually(func() string {
		kind, _, _ := strings.Cut(want, "=")
		return sandbox.Differs("condition", want, sandbox.ConditionOf(c.jobSet().Status.Conditions, kind))
	})
}

func (c *cluster) eventually(check func() string) {
	c.Helper()
	sandbox.Eventually(c.T, check)
}

// play writes the status of a Job, as the Job controller does.
func (c *cluster) play(name string, change func(*batchv1.JobStatus)) {
	c.Helper()
	c.ok(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		job, err := c.core.BatchV1().Jobs(c.namespace).Get(c.Context(), name, metav1.GetOptions{})
		c.ok(err)
		if job.Status.StartTime == nil {
			job.Status.StartTime = ptr.To(metav1.Now())
		}
		change(&job.Status)
		_, err = c.core.BatchV1().Jobs(c.namespace).UpdateStatus(c.Context(), job, metav1.UpdateOptions{})
		return err
	}))
}

func (c *cluster) ready(names ...string) {
	c.Helper()
	for _, name := range names {
		c.play(name, sandbox.JobReady(1))
	}
}

func (c *cluster) succeed(name string) {
	c.Helper()
	c.play(name, sandbox.JobSucceeded)
}

func (c *cluster) fail(name string) {
	c.Helper()
	c.play(name, sandbox.JobFailed)
}

// pods creates a pod for each Job, as the Job controller does.
func (c *cluster) pods() {
	c.Helper()
	for _, job := range c.jobs() {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: job.Name + "-0", Labels: job.Spec.Template.Labels, Annotations: job.Spec.Template.Annotations,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&job, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Spec: job.Spec.Template.Spec,
		}
		_, err := c.core.CoreV1().Pods(c.namespace).Create(c.Context(), pod, metav1.CreateOptions{})
		c.ok(err)
	}
}

// collect removes a Job that is being deleted, as the garbage collector does once its pods are gone.
func (c *cluster) collect(name string) {
	c.Helper()
	_, err := c.core.BatchV1().Jobs(c.namespace).Patch(c.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	c.ok(err)
}
