//go:build envtest

package published

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	theirs "github.com/project-codeflare/appwrapper/api/v1beta2"
	theirconfig "github.com/project-codeflare/appwrapper/pkg/config"
	theircontroller "github.com/project-codeflare/appwrapper/pkg/controller"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/app"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &config, "../../charts/appwrapper-controller/files/crds"))
}

// cluster is a namespace in which the test stands in for the Job controller, the kubelet and the garbage collector.
type cluster struct{ *sandbox.Sandbox }

// runTheirs runs the upstream controller, with a retry pause that is longer than any test.
func runTheirs(t *testing.T) (stop func()) {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: sandbox.Scheme(theirs.AddToScheme), Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(t, err)
	settings := theirconfig.NewAppWrapperConfig()
	settings.FaultTolerance.RetryPausePeriod = time.Hour
	must(t, theircontroller.SetupIndexers(context.Background(), mgr, settings))
	must(t, theircontroller.SetupControllers(mgr, settings))
	return sandbox.Run(t, mgr.Start)
}

// runOurs runs our manager without a webhook, but with the access check, so that it creates nothing for new
// AppWrappers.
func runOurs(t *testing.T) {
	t.Helper()
	o := app.NewOptions()
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.Flags(set)
	must(t, set.Parse([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}))
	must(t, o.Complete(set))
	o.Registry = prometheus.NewRegistry()
	sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, config) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Our controller continues from any state in which the upstream controller can leave a workload. It changes neither
// the Jobs nor the pods of running workloads.
func TestWorkloadsOfThePublishedControllerAreTakenOver(t *testing.T) {
	c := &cluster{sandbox.New(t, config, sandbox.Scheme(v1beta2.AddToScheme), "takeover-")}
	stop := runTheirs(t)
	c.up("running")
	c.create(MakeAppWrapper("starting").Job("starting", 1))
	c.awaitPhase("starting", v1beta2.Running)
	c.create(MakeAppWrapper("queued").Job("queued", 1).Suspend(true))
	c.awaitPhase("queued", v1beta2.Suspended)
	c.up("resetting")
	c.finish("resetting", batchv1.JobFailed)
	c.wake("resetting")
	c.awaitPhase("resetting", v1beta2.Resetting)
	c.remove("resetting")
	c.up("succeeded")
	c.podPhase("succeeded", corev1.PodSucceeded)
	c.awaitPhase("succeeded", v1beta2.Succeeded)
	c.up("suspending")
	c.change("suspending", func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend = true })
	c.awaitPhase("suspending", v1beta2.Suspending)
	before := map[string]*batchv1.Job{}
	for _, name := range []string{"running", "starting", "succeeded"} {
		before[name] = c.job(name)
	}
	stop()
	c.change("resetting", func(aw *v1beta2.AppWrapper) {
		metav1.SetMetaDataAnnotation(&aw.ObjectMeta, v1beta2.RetryPausePeriodKey, "0s")
	})

	runOurs(t)
	c.remove("suspending")
	c.awaitPhase("suspending", v1beta2.Suspended)
	c.awaitPhase("resetting", v1beta2.Running)
	if n := c.get("resetting").Status.Retries; n != 1 {
		t.Errorf("%d resets", n)
	}
	c.change("queued", func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend = false })
	c.awaitPhase("queued", v1beta2.Running)
	c.pod("starting")
	c.awaitReady("starting")
	c.awaitReady("running")
	for name, job := range before {
		if now := c.job(name); now.UID != job.UID || now.Generation != job.Generation {
			t.Errorf("the Job of %s was replaced or changed", name)
		}
	}
	if phase := c.get("succeeded").Status.Phase; phase != v1beta2.Succeeded {
		t.Errorf("the succeeded workload has phase %s", phase)
	}
	c.finish("running", batchv1.JobComplete)
	c.awaitPhase("running", v1beta2.Succeeded)
	c.finish("starting", batchv1.JobFailed)
	c.awaitPhase("starting", v1beta2.Resetting)
}

// A failed workload stays failed. The objects that the upstream controller has kept for their logs are kept until
// their grace period ends. Then the quota is released.
func TestFailedWorkloadsOfThePublishedControllerAreTakenOver(t *testing.T) {
	c := &cluster{sandbox.New(t, config, sandbox.Scheme(v1beta2.AddToScheme), "takeover-failed-")}
	stop := runTheirs(t)
	fail := func(name, keep string) *batchv1.Job {
		c.create(MakeAppWrapper(name).Job(name, 1).Annotation(v1beta2.RetryLimitKey, "0").Annotation(v1beta2.DeletionOnFailureGracePeriodKey, keep))
		c.awaitPhase(name, v1beta2.Running)
		c.pod(name)
		c.awaitReady(name)
		job := c.job(name)
		c.finish(name, batchv1.JobFailed)
		c.wake(name)
		c.awaitPhase(name, v1beta2.Failed)
		return job
	}
	fail("removed", "0s")
	c.remove("removed")
	c.wake("removed")
	c.awaitCondition("removed", "QuotaReserved=False/Failed")
	kept := fail("kept", "1h")
	stop()

	runOurs(t)
	c.Always(func() string {
		for name, quota := range map[string]string{"removed": "QuotaReserved=False/Failed", "kept": "QuotaReserved=True/Resuming"} {
			aw := c.get(name)
			if is := sandbox.ConditionOf(aw.Status.Conditions, "QuotaReserved"); aw.Status.Phase != v1beta2.Failed || is != quota {
				return name + " is " + string(aw.Status.Phase) + ", " + is
			}
		}
		return ""
	})
	if now := c.job("kept"); now.UID != kept.UID || !now.DeletionTimestamp.IsZero() {
		t.Error("the Job that is kept for its logs was deleted")
	}
	c.change("kept", func(aw *v1beta2.AppWrapper) {
		metav1.SetMetaDataAnnotation(&aw.ObjectMeta, v1beta2.DeletionOnFailureGracePeriodKey, "0s")
	})
	c.Eventually(func() string {
		var job batchv1.Job
		if err := c.Get(c.Context(), c.key("kept"), &job); err == nil && job.DeletionTimestamp.IsZero() {
			return "the Job still exists"
		}
		return ""
	})
	c.remove("kept")
	c.awaitCondition("kept", "QuotaReserved=False/Failed")
}

// wake triggers a reconcile by the upstream controller, which does not watch Jobs and would resync only after a
// minute.
func (c *cluster) wake(name string) {
	c.Helper()
	c.change(name, func(aw *v1beta2.AppWrapper) {
		metav1.SetMetaDataAnnotation(&aw.ObjectMeta, "test.holdfast.dev/wake", time.Now().String())
	})
}

// awaitCondition waits for "Type=Status/Reason".
func (c *cluster) awaitCondition(name, want string) {
	c.Helper()
	kind, _, _ := strings.Cut(want, "=")
	c.Eventually(func() string {
		return sandbox.Differs("condition of "+name, want, sandbox.ConditionOf(c.get(name).Status.Conditions, kind))
	})
}

func (c *cluster) create(aw *AppWrapper) {
	c.Helper()
	c.OK(c.Create(c.Context(), aw.Namespace(c.Namespace).Obj()))
}

// up creates a workload with one Job and one pod, and returns once it is ready.
func (c *cluster) up(name string) {
	c.Helper()
	c.create(MakeAppWrapper(name).Job(name, 1))
	c.awaitPhase(name, v1beta2.Running)
	c.pod(name)
	c.awaitReady(name)
}

// pod creates the running pod of a Job.
func (c *cluster) pod(name string) {
	c.Helper()
	job := c.job(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: c.Namespace, Labels: job.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}, Spec: job.Spec.Template.Spec}
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	c.OK(c.Create(c.Context(), pod))
	c.podPhase(name, corev1.PodRunning)
}

func (c *cluster) podPhase(name string, phase corev1.PodPhase) {
	c.Helper()
	var pod corev1.Pod
	c.OK(c.Get(c.Context(), c.key(name), &pod))
	pod.Status.Phase = phase
	c.OK(c.Status().Update(c.Context(), &pod))
}

// remove deletes the pod, and the Job if it exists, as the kubelet and the garbage collector do.
func (c *cluster) remove(name string) {
	c.Helper()
	for _, o := range []client.Object{&corev1.Pod{}, &batchv1.Job{}} {
		o.SetName(name)
		o.SetNamespace(c.Namespace)
		if err := c.Delete(c.Context(), o, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)); !apierrors.IsNotFound(err) {
			c.OK(err)
		}
	}
}

func (c *cluster) finish(name string, end batchv1.JobConditionType) {
	c.Helper()
	job := c.job(name)
	if end == batchv1.JobComplete {
		sandbox.JobSucceeded(&job.Status)
		job.Status.CompletedIndexes = ""
	} else {
		sandbox.JobFailed(&job.Status)
	}
	c.OK(c.Status().Update(c.Context(), job))
}

func (c *cluster) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace, Name: name}
}

func (c *cluster) job(name string) *batchv1.Job {
	c.Helper()
	var job batchv1.Job
	c.Eventually(func() string {
		if err := c.Get(c.Context(), c.key(name), &job); err != nil {
			return err.Error()
		}
		return ""
	})
	return &job
}

func (c *cluster) get(name string) *v1beta2.AppWrapper {
	c.Helper()
	var aw v1beta2.AppWrapper
	c.OK(c.Get(c.Context(), c.key(name), &aw))
	return &aw
}

func (c *cluster) change(name string, change func(*v1beta2.AppWrapper)) {
	c.Helper()
	before := c.get(name)
	after := before.DeepCopy()
	change(after)
	c.OK(c.Patch(c.Context(), after, client.MergeFrom(before)))
}

func (c *cluster) awaitPhase(name string, want v1beta2.AppWrapperPhase) {
	c.Helper()
	c.Eventually(func() string {
		return sandbox.Differs("phase of "+name, string(want), string(c.get(name).Status.Phase))
	})
}

func (c *cluster) awaitReady(name string) {
	c.Helper()
	c.Eventually(func() string {
		return sandbox.Differs(name, "PodsReady=True/SufficientPodsReady", sandbox.ConditionOf(c.get(name).Status.Conditions, "PodsReady"))
	})
}
