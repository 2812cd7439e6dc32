//go:build envtest

package published

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func newTheirScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, theirs.AddToScheme(scheme))
	return scheme
}

// phase describes a state that a JobSet has reached with the upstream controller, and how it continues with our
// controller.
type phase struct {
	reach func(*cluster)
	// jobs lists the Jobs that exist when the upstream controller is stopped, in the format of names.
	jobs string
	// over means that the JobSet has finished, so our controller must not write anything.
	over bool
	// then performs the steps that follow with our controller.
	then func(*cluster)
}

func phases() map[string]phase {
	return map[string]phase{
		"pods are starting": {
			reach: func(c *cluster) { c.create(MakeJobSet("a").Workers(2)) },
			jobs:  "a-workers-0@0 a-workers-1@0",
			then: func(c *cluster) {
				c.ready("a-workers-0", "a-workers-1")
				c.awaitCondition("Running=True/AllJobsReady")
			},
		},
		"all Jobs are ready": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(2).MaxRestarts(1))
				c.awaitJobs("a-workers-0@0 a-workers-1@0")
				c.ready("a-workers-0", "a-workers-1")
				c.awaitReady(2)
			},
			jobs: "a-workers-0@0 a-workers-1@0",
			then: func(c *cluster) {
				c.fail("a-workers-1")
				c.awaitJobs("a-workers-0@0- a-workers-1@0-")
				c.collect("a-workers-0")
				c.collect("a-workers-1")
				c.awaitJobs("a-workers-0@1 a-workers-1@1")
			},
		},
		"groups, a coordinator and exclusive placement": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Entry("lead", 1, func(e *v1alpha2.ReplicatedJob) { e.GroupName = "g" }).Workers(2).
					Annotation(v1alpha2.ExclusiveKey, "rack").Annotation(v1alpha2.NodeSelectorStrategyKey, "true").
					Change(func(js *v1alpha2.JobSet) { js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: "lead"} }))
				c.awaitJobs("a-lead-0@0 a-workers-0@0 a-workers-1@0")
				c.ready("a-lead-0", "a-workers-0", "a-workers-1")
				c.awaitReady(3)
			},
			jobs: "a-lead-0@0 a-workers-0@0 a-workers-1@0",
		},
		"an ordered start is in progress": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1).Entry("three", 1).InOrder())
				c.awaitJobs("a-one-0@0")
				c.ready("a-one-0")
				c.awaitJobs("a-one-0@0 a-two-0@0")
				c.awaitCondition("StartupPolicyInProgress=True/InOrderStartupPolicyInProgress")
			},
			jobs: "a-one-0@0 a-two-0@0",
			then: func(c *cluster) {
				c.ready("a-two-0")
				c.awaitJobs("a-one-0@0 a-three-0@0 a-two-0@0")
				c.ready("a-three-0")
				c.awaitCondition("StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
			},
		},
		"an ordered start is complete": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Entry("one", 1).Entry("two", 1).InOrder())
				c.awaitJobs("a-one-0@0")
				c.ready("a-one-0")
				c.awaitJobs("a-one-0@0 a-two-0@0")
				c.ready("a-two-0")
				c.awaitCondition("StartupPolicyCompleted=True/InOrderStartupPolicyCompleted")
			},
			jobs: "a-one-0@0 a-two-0@0",
		},
		"a replicatedJob waits for another": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Entry("init", 1).Entry("main", 1, DependsOn("init", v1alpha2.DependencyComplete)))
				c.awaitJobs("a-init-0@0")
				c.ready("a-init-0")
				c.awaitReady(1)
			},
			jobs: "a-init-0@0",
			then: func(c *cluster) {
				c.succeed("a-init-0")
				c.awaitJobs("a-init-0@0 a-main-0@0")
			},
		},
		"suspended from the start": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(2).Suspend(true))
				c.awaitCondition("Suspended=True/SuspendedJobs")
			},
			jobs: "a-workers-0@0z a-workers-1@0z",
			then: func(c *cluster) {
				c.change(func(js *theirs.JobSet) {
					js.Spec.Suspend = ptr.To(false)
					js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{"flavor": "spot"}
				})
				c.awaitJobs("a-workers-0@0 a-workers-1@0")
				c.awaitCondition("Suspended=False/ResumeJobs")
			},
		},
		"suspended while it ran, and resumed": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(1))
				c.awaitJobs("a-workers-0@0")
				c.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(true) })
				c.awaitCondition("Suspended=True/SuspendedJobs")
				c.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(false) })
				c.awaitJobs("a-workers-0@0")
				c.awaitCondition("Suspended=False/ResumeJobs")
			},
			jobs: "a-workers-0@0",
		},
		"restarted once": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(1).MaxRestarts(1))
				c.awaitJobs("a-workers-0@0")
				c.fail("a-workers-0")
				c.awaitJobs("a-workers-0@0-")
				c.collect("a-workers-0")
				c.awaitJobs("a-workers-0@1")
				c.ready("a-workers-0")
				c.awaitCondition("RestartingJobSet=False/JobsReady")
			},
			jobs: "a-workers-0@1",
			then: func(c *cluster) {
				c.fail("a-workers-0")
				c.awaitCondition("Failed=True/ReachedMaxRestarts")
			},
		},
		"in the middle of a restart": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(2).MaxRestarts(1))
				c.awaitJobs("a-workers-0@0 a-workers-1@0")
				c.fail("a-workers-0")
				c.awaitJobs("a-workers-0@0- a-workers-1@0-")
				c.collect("a-workers-1")
				c.awaitJobs("a-workers-0@0- a-workers-1@1")
			},
			jobs: "a-workers-0@0- a-workers-1@1",
			then: func(c *cluster) {
				c.collect("a-workers-0")
				c.awaitJobs("a-workers-0@1 a-workers-1@1")
			},
		},
		"with volume claims": {
			reach: func(c *cluster) { c.create(withClaim()); c.awaitJobs("a-workers-0@0") },
			jobs:  "a-workers-0@0",
		},
		"complete": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Entry("b", 1).Entry("a", 1))
				c.awaitJobs("a-a-0@0 a-b-0@0")
				c.succeed("a-a-0")
				c.succeed("a-b-0")
				c.awaitCondition("Completed=True/AllJobsCompleted")
			},
			jobs: "a-a-0@0 a-b-0@0", over: true,
		},
		"failed": {
			reach: func(c *cluster) {
				c.create(MakeJobSet("a").Workers(1))
				c.awaitJobs("a-workers-0@0")
				c.fail("a-workers-0")
				c.awaitCondition("Failed=True/FailedJobs")
			},
			jobs: "a-workers-0@0", over: true,
		},
	}
}

func (c *cluster) awaitReady(n int32) {
	c.Helper()
	c.eventually(func() string {
		var got int32
		for _, s := range c.jobSet().Status.ReplicatedJobsStatus {
			got += s.Ready
		}
		if got != n {
			return fmt.Sprintf("%d jobs are ready, want %d", got, n)
		}
		return ""
	})
}

func withClaim() *JobSet {
	return MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) {
		container := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
		container.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{{
			RetentionPolicy: &v1alpha2.VolumeRetentionPolicy{WhenDeleted: v1alpha2.RetentionPolicyDelete},
			Templates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}}},
		}}
	})
}

// versions returns the versions of all objects except the JobSet, by kind and name. Any write changes at least one of
// them.
func (c *cluster) versions() map[string]string {
	c.Helper()
	versions := map[string]string{}
	for _, job := range c.jobs() {
		versions["job "+job.Name] = string(job.UID) + "/" + job.ResourceVersion
	}
	pods, err := c.core.CoreV1().Pods(c.namespace).List(c.Context(), metav1.ListOptions{})
	c.ok(err)
	for _, pod := range pods.Items {
		versions["pod "+pod.Name] = string(pod.UID) + "/" + pod.ResourceVersion
	}
	services, err := c.core.CoreV1().Services(c.namespace).List(c.Context(), metav1.ListOptions{})
	c.ok(err)
	for _, service := range services.Items {
		versions["service "+service.Name] = string(service.UID) // our controller adds its label
	}
	claims, err := c.core.CoreV1().PersistentVolumeClaims(c.namespace).List(c.Context(), metav1.ListOptions{})
	c.ok(err)
	for _, claim := range claims.Items {
		versions["claim "+claim.Name] = string(claim.UID) + "/" + claim.ResourceVersion
	}
	return versions
}

// The test stops the upstream controller when there is a JobSet in each phase, and starts our controller. During the
// replacement, no Job, pod, Service or claim may be deleted, recreated or written. After that, the JobSets continue
// with our controller.
func TestRunningPublishedControllerIsReplacedInPlace(t *testing.T) {
	stopTheirs := runTheirs(t)
	all, clusters := phases(), map[string]*cluster{}
	for name, phase := range all {
		t.Run("before: "+name, func(t *testing.T) {
			c := newCluster(t)
			phase.reach(c)
			c.awaitJobs(phase.jobs)
			c.pods()
			clusters[name] = c
		})
	}
	if t.Failed() {
		return
	}
	stopTheirs()
	before, objects := map[string]*theirs.JobSet{}, map[string]map[string]string{}
	for name, c := range clusters {
		c.T = t
		before[name], objects[name] = c.jobSet(), c.versions()
	}
	runOurs(t)
	for name, phase := range all {
		c := clusters[name]
		if !phase.over {
			c.eventually(func() string {
				for _, condition := range c.jobSet().Status.Conditions {
					if condition.Type == string(v1alpha2.JobSetRunning) {
						return ""
					}
				}
				return name + ": not reconciled yet"
			})
		}
	}
	time.Sleep(2 * time.Second) // gives our controller time to make unwanted writes
	for name, phase := range all {
		t.Run(name, func(t *testing.T) {
			c := clusters[name]
			c.T = t
			if diff := cmp.Diff(objects[name], c.versions()); diff != "" {
				t.Errorf("objects were touched: %s", diff)
			}
			c.keeps(before[name], phase.over)
			if phase.then != nil {
				phase.then(c)
			}
		})
	}
}

// keeps checks that nothing but conditions was added to the JobSet.
func (c *cluster) keeps(before *theirs.JobSet, over bool) {
	c.Helper()
	now := c.jobSet()
	if over && now.ResourceVersion != before.ResourceVersion {
		c.Errorf("a finished JobSet was written: %s", cmp.Diff(before, now))
	}
	if diff := cmp.Diff(before.Spec, now.Spec); diff != "" || before.Generation != now.Generation {
		c.Errorf("spec: %s", diff)
	}
	kept := now.Status.DeepCopy()
	kept.Conditions = nil
	for _, condition := range now.Status.Conditions {
		if condition.Type != string(v1alpha2.JobSetRunning) {
			condition.ObservedGeneration = 0
			kept.Conditions = append(kept.Conditions, condition)
		}
	}
	for i := range before.Status.Conditions {
		before.Status.Conditions[i].Message = ""
	}
	for i := range kept.Conditions {
		kept.Conditions[i].Message = ""
	}
	if diff := cmp.Diff(before.Status, *kept); diff != "" {
		c.Errorf("status: %s", diff)
	}
}
