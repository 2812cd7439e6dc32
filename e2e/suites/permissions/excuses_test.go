//go:build e2e && e2e_all

package permissions

import "github.com/holdfast-project/holdfast/e2e/framework/audit"

// excuses lists rights that no suite uses, and why programs have them anyway.
var excuses = []audit.Excuse{
	{Rights: "*: update */finalizers", Why: "the admission plugin OwnerReferencesPermissionEnforcement asks for it where it is on; it is no request"},
	{Rights: "elastic-kueue: get */finalizers", Why: "Kueue's framework, whose list of rights is copied as it is"},
	{Rights: "elastic-kueue: get */status", Why: "Kueue's framework, whose list of rights is copied as it is"},
	{Rights: "elastic-kueue: create tokenreviews.authentication.k8s.io", Why: "the chart serves no metrics of it; --metrics-bind-address does"},
	{Rights: "elastic-kueue: create subjectaccessreviews.authorization.k8s.io", Why: "the chart serves no metrics of it; --metrics-bind-address does"},

	{Rights: "elastic-kueue: delete workloads.kueue.x-k8s.io", Why: "of jobs that were changed so that no workload is theirs any more"},
	{Rights: "elastic-kueue: patch workloads.kueue.x-k8s.io", Why: "admission gates, which Kueue's framework takes over from jobs"},
	{Rights: "elastic-kueue: * priorityclasses.scheduling.k8s.io", Why: "for jobs without a WorkloadPriorityClass"},
	{Rights: "orchestrator: * secrets r-jobset-controller-valkey-*", Why: "the Secrets of the store have the name of the release; the suites' release has another one"},

	// These take longer than a suite, or are used by requests that no suite makes. Tests against a real API server use
	// them.
	{Rights: "appwrapper: delete appwrappers.workload.codeflare.dev", Why: ttl},
	{Rights: "jobset: delete jobsets.jobset.x-k8s.io", Why: ttl},
	{Rights: "elastic-operator: delete elasticjobs.elastic.pytorch.org", Why: ttl},
	{Rights: "*: patch events.events.k8s.io", Why: "an event that is repeated is patched, some minutes later"},
	{Rights: "jobset: * persistentvolumeclaims", Why: "volume claim policies"},
	{Rights: "jobset: delete pods", Why: "pods that are stuck on a dead node are deleted, and pods that are not where their leader is"},
	{Rights: "jobset: patch jobs.batch/status", Why: "API servers before 1.36 accept another template only if the start time is cleared"},
	{Rights: "jobset: patch pods/status", Why: "pods that are not where their leader is say so before they are deleted"},
	{Rights: "jobset: patch services", Why: "services that an older controller has left are labelled"},

	{Rights: "rescheduler: patch jobs.batch", Why: root},
	{Rights: "rescheduler: patch replicasets.apps", Why: root},
	{Rights: "rescheduler: patch elasticjobs.elastic.pytorch.org", Why: root},

	// Kinds of other projects, which the testbed does not have.
	{Rights: "appwrapper: * *.kubeflow.org", Why: wrapped},
	{Rights: "appwrapper: * *.leaderworkerset.x-k8s.io", Why: wrapped},
	{Rights: "appwrapper: * *.ray.io", Why: wrapped},
	{Rights: "appwrapper: * podgroups.scheduling.*", Why: wrapped},
	{Rights: "rescheduler: * rollouts.argoproj.io", Why: owner},
	{Rights: "rescheduler: * *.kubeflow.org", Why: owner},
	{Rights: "rescheduler: * *.leaderworkerset.x-k8s.io", Why: owner},
	{Rights: "rescheduler: * *.ray.io", Why: owner},
	{Rights: "rescheduler: get podgroups.scheduling.k8s.io", Why: "pods that are scheduled as a group are left alone; the testbed's have none"},

	// Kinds that the testbed has, but that the suites do not combine with every program.
	{Rights: "appwrapper: * deployments.apps", Why: wrapped},
	{Rights: "appwrapper: * statefulsets.apps", Why: wrapped},
	{Rights: "appwrapper: * elasticjobs.elastic.pytorch.org", Why: wrapped},
	{Rights: "rescheduler: * cronjobs.batch", Why: owner},
	{Rights: "rescheduler: get replicationcontrollers", Why: owner},
	{Rights: "rescheduler: get persistentvolume*", Why: "it looks at the volumes of pods that have some: where they can go"},
}

const (
	ttl     = "what has ended is deleted when its time is over"
	wrapped = "kinds that a workload may consist of; the suites wrap Jobs, Services, pods and JobSets"
	root    = "what is remembered stands on the outermost owner; in the suites these have one above them"
	owner   = "kinds that may own pods; the suites' pods belong to Deployments, StatefulSets, Jobs and JobSets"
)
