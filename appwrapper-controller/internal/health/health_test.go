package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

const (
	jobKind     = "apiVersion: batch/v1\nkind: Job\n"
	inOrder     = "spec: {startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [{name: data, template: {spec: {parallelism: 1, completions: 5}}}, {name: nodes, replicas: 2, template: {spec: {parallelism: 2}}}]}\n"
	jobSetKind  = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"
	elasticKind = "apiVersion: elastic.pytorch.org/v1alpha1\nkind: ElasticJob\n"
	torchKind   = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"
	mpiKind     = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n"
	rayJobKind  = "apiVersion: ray.io/v1\nkind: RayJob\n"
	rayKind     = "apiVersion: ray.io/v1\nkind: RayCluster\n"
	lwsKind     = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n"
)

func condition(kind, status string) string {
	return "status: {conditions: [{type: Other, status: 'True'}, {type: " + kind + ", status: '" + status + "', reason: R, message: because}]}\n"
}

func TestReports(t *testing.T) {
	for name, tc := range map[string]struct {
		object string
		want   Report
	}{
		"a new Job":                                  {jobKind, Report{State: Active}},
		"a running Job":                              {jobKind + "spec: {parallelism: 4, completions: 9}\n" + condition("Suspended", "False"), Report{State: Active, Pods: ptr.To[int32](4), Active: ptr.To[int32](4)}},
		"a Job in its last wave":                     {jobKind + "spec: {parallelism: 4, completions: 9}\nstatus: {succeeded: 7}", Report{State: Active, Pods: ptr.To[int32](4), Active: ptr.To[int32](2), Succeeded: 7}},
		"a Job without completions":                  {jobKind + "spec: {parallelism: 4}", Report{State: Active}},
		"a Job without completions, after a success": {jobKind + "spec: {parallelism: 4}\nstatus: {succeeded: 3}", Report{State: Active, Succeeded: 3}},
		"a Job with few completions":                 {jobKind + "spec: {parallelism: 4, completions: 3}\n", Report{State: Active, Pods: ptr.To[int32](3), Active: ptr.To[int32](3)}},
		"a complete Job":                             {jobKind + condition("Complete", "True"), Report{State: Complete}},
		"a failed Job":                               {jobKind + condition("Failed", "True"), Report{State: Failed, Message: "because"}},
		"a Job with FailureTarget":                   {jobKind + condition("FailureTarget", "True"), Report{State: Active}},
		"a Job that has not failed":                  {jobKind + condition("Failed", "False"), Report{State: Active}},
		"a complete JobSet":                          {jobSetKind + condition("Completed", "True"), Report{State: Complete}},
		"a failed JobSet":                            {jobSetKind + condition("Failed", "True"), Report{State: Failed, Message: "because"}},
		"a restarting JobSet":                        {jobSetKind + condition("RestartingJobSet", "True"), Report{State: Active, Restarting: true}},
		"a JobSet whose nodes wait for their data":   {jobSetKind + inOrder + "status: {replicatedJobsStatus: [{name: data, active: 1}, {name: nodes}]}", Report{State: Active, Pods: ptr.To[int32](1)}},
		"a JobSet in its second stage":               {jobSetKind + inOrder + "status: {replicatedJobsStatus: [{name: data, succeeded: 1}, {name: nodes, active: 2}]}", Report{State: Active}},
		"a JobSet with a dependent replicatedJob": {
			jobSetKind + "spec: {replicatedJobs: [{name: a, replicas: 3}, {name: b, dependsOn: [{name: a, status: Ready}]}]}", Report{State: Active, Pods: ptr.To[int32](3)},
		},
		"an ElasticJob that succeeded":          {elasticKind + condition("Succeeded", "True"), Report{State: Complete}},
		"an ElasticJob with enough workers":     {elasticKind + "spec: {minReplicas: 2}\n" + condition("Running", "True"), Report{State: Active, EnoughPods: true, Pods: ptr.To[int32](2)}},
		"an ElasticJob with too few workers":    {elasticKind + "spec: {minReplicas: 2}\n" + condition("Running", "False"), Report{State: Active, Pods: ptr.To[int32](2)}},
		"a failed ElasticJob":                   {elasticKind + condition("Failed", "True"), Report{State: Failed, Message: "because"}},
		"a PyTorchJob that succeeded":           {torchKind + condition("Succeeded", "True"), Report{State: Complete}},
		"a failed PyTorchJob":                   {torchKind + condition("Failed", "True"), Report{State: Failed, Message: "because"}},
		"a restarting PyTorchJob":               {torchKind + condition("Restarting", "True"), Report{State: Active, Restarting: true}},
		"an MPIJob that succeeded":              {mpiKind + condition("Succeeded", "True"), Report{State: Complete}},
		"a failed MPIJob":                       {mpiKind + condition("Failed", "True"), Report{State: Failed, Message: "because"}},
		"a RayJob that succeeded":               {rayJobKind + "status: {jobDeploymentStatus: Complete, jobStatus: SUCCEEDED}", Report{State: Complete}},
		"a RayJob whose job has failed":         {rayJobKind + "status: {jobDeploymentStatus: Complete, jobStatus: FAILED, message: because}", Report{State: Failed, Message: "because"}},
		"a RayJob that never ran":               {rayJobKind + "status: {jobDeploymentStatus: Failed, reason: DeadlineExceeded}", Report{State: Failed, Message: "DeadlineExceeded"}},
		"a RayJob that is retried":              {rayJobKind + "status: {jobDeploymentStatus: Retrying, jobStatus: FAILED}", Report{State: Active, Restarting: true}},
		"a running RayJob":                      {rayJobKind + "status: {jobDeploymentStatus: Running, jobStatus: RUNNING}", Report{State: Active}},
		"B-15: a temporarily failed RayCluster": {rayKind + "status: {state: failed}", Report{}},
		"a RayCluster that was scaled":          {rayKind + "status: {desiredWorkerReplicas: 2}", Report{Pods: ptr.To[int32](3)}},
		"a LeaderWorkerSet":                     {lwsKind + "spec: {replicas: 2, leaderWorkerTemplate: {size: 3}}", Report{Pods: ptr.To[int32](6)}},
		"an updating LeaderWorkerSet":           {lwsKind + condition("UpdateInProgress", "True"), Report{Pods: ptr.To[int32](1), Restarting: true}},
		"a Deployment that was scaled":          {"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 1}", Report{Pods: ptr.To[int32](1)}},
		"a StatefulSet scaled to zero":          {"apiVersion: apps/v1\nkind: StatefulSet\nspec: {replicas: 0}", Report{Pods: ptr.To[int32](0)}},
		"an unknown kind":                       {"apiVersion: v1\nkind: Service\n" + condition("Failed", "True"), Report{}},
		"a malformed object":                    {jobKind + "spec: many\nstatus: {conditions: {Failed: 'True'}}", Report{State: Active}},
		"malformed conditions":                  {jobKind + "status: {conditions: [Failed, 3, {type: 4}]}", Report{State: Active}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			raw, err := yaml.YAMLToJSON([]byte(tc.object))
			if err == nil {
				err = o.UnmarshalJSON(raw)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, Of(o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFailedPodIsNotAFailedComponent(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]State{corev1.PodSucceeded: Complete, corev1.PodFailed: Active, corev1.PodRunning: Active} {
		if got := Of(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}); got.State != want {
			t.Errorf("%s: %+v", phase, got)
		}
	}
	if !Known(Pod) || !ReportsCompletion(Pod) {
		t.Error("pods do not count as a known kind that reports completion")
	}
}

func TestReportsCompletion(t *testing.T) {
	for kind := range byKind {
		finishes := ReportsCompletion(kind)
		forEver := map[string]bool{"Deployment": true, "StatefulSet": true, "LeaderWorkerSet": true, "RayCluster": true}[kind.Kind]
		if finishes == forEver {
			t.Errorf("%s: %v", kind, finishes)
		}
	}
}
