//go:build e2e && e2e_all

package tests_rbac

import "github.com/holdfast-project/holdfast/e2e/audit"

// excuses are rights that no suite uses, and why a program has them all the same.
var excuses = []audit.Excuse{
	{Rights: "*: update */finalizers", Why: "the admission plugin OwnerReferencesPermissionEnforcement asks for it where it is on; it is no request"},
	{Rights: "elastic-kueue: get */finalizers", Why: "Kueue's framework, whose list of rights is copied as it is"},
	{Rights: "elastic-kueue: get */status", Why: "Kueue's framework, whose list of rights is copied as it is"},
	{Rights: "elastic-kueue: create tokenreviews.authentication.k8s.io", Why: "the chart serves no metrics of it; --metrics-bind-address does"},
	{Rights: "elastic-kueue: create subjectaccessreviews.authorization.k8s.io", Why: "the chart serves no metrics of it; --metrics-bind-address does"},

	// Kinds of others, which the testbed does not have.
	{Rights: "appwrapper: * *.kubeflow.org", Why: wrapped},
	{Rights: "appwrapper: * *.leaderworkerset.x-k8s.io", Why: wrapped},
	{Rights: "appwrapper: * *.ray.io", Why: wrapped},
	{Rights: "appwrapper: * podgroups.scheduling.*", Why: wrapped},
	{Rights: "rescheduler: * rollouts.argoproj.io", Why: owner},
	{Rights: "rescheduler: * *.kubeflow.org", Why: owner},
	{Rights: "rescheduler: * *.leaderworkerset.x-k8s.io", Why: owner},
	{Rights: "rescheduler: * *.ray.io", Why: owner},
	{Rights: "rescheduler: get podgroups.scheduling.k8s.io", Why: "pods that are scheduled as a group are left alone; the testbed's have none"},

	// Kinds that the testbed has and that suites do not combine with every program.
	{Rights: "appwrapper: * deployments.apps", Why: wrapped},
	{Rights: "appwrapper: * statefulsets.apps", Why: wrapped},
	{Rights: "appwrapper: * elasticjobs.elastic.pytorch.org", Why: wrapped},
	{Rights: "appwrapper: * *.resource.k8s.io", Why: "it reads devices only if a signal of the configuration is about them"},
	{Rights: "rescheduler: * cronjobs.batch", Why: owner},
	{Rights: "rescheduler: get replicationcontrollers", Why: owner},
	{Rights: "rescheduler: get persistentvolume*", Why: "it looks at the volumes of pods that have some: where they can go"},
}

const (
	wrapped = "kinds that a workload may consist of; the suites wrap Jobs, Services, pods and JobSets"
	owner   = "kinds that may own pods; the suites' pods belong to Deployments, StatefulSets, Jobs and JobSets"
)
