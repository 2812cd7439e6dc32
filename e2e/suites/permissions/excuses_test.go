//go:build e2e && e2e_all

package permissions

import "github.com/holdfast-project/holdfast/e2e/framework/audit"

// excuses lists rights that no suite uses, and why programs have them anyway.
var excuses = []audit.Excuse{
	{Rights: "*: update */finalizers", Why: "the admission plugin OwnerReferencesPermissionEnforcement checks it, if enabled; it is never requested"},
	{Rights: "elastic-kueue: get */finalizers", Why: "Kueue's framework, whose list of rights is copied unchanged"},
	{Rights: "elastic-kueue: get */status", Why: "Kueue's framework, whose list of rights is copied unchanged"},
	{Rights: "elastic-kueue: create tokenreviews.authentication.k8s.io", Why: "for metrics, which the chart does not serve for this program; --metrics-bind-address enables them"},
	{Rights: "elastic-kueue: create subjectaccessreviews.authorization.k8s.io", Why: "for metrics, which the chart does not serve for this program; --metrics-bind-address enables them"},

	{Rights: "elastic-kueue: delete workloads.kueue.x-k8s.io", Why: "for jobs that were changed so that their workload no longer belongs to them"},
	{Rights: "elastic-kueue: patch workloads.kueue.x-k8s.io", Why: "admission gates, which Kueue's framework copies from jobs"},
	{Rights: "elastic-kueue: * priorityclasses.scheduling.k8s.io", Why: "for jobs without a WorkloadPriorityClass"},
	{Rights: "orchestrator: * secrets r-jobset-controller-valkey-*", Why: "the names of the store's Secrets contain the name of the release, which differs in the suites"},

	// These take longer than a suite, or are used by requests that no suite makes. Tests against a real API server use
	// them.
	{Rights: "appwrapper: delete appwrappers.workload.codeflare.dev", Why: ttl},
	{Rights: "jobset: delete jobsets.jobset.x-k8s.io", Why: ttl},
	{Rights: "elastic-operator: delete elasticjobs.elastic.pytorch.org", Why: ttl},
	{Rights: "*: patch events.events.k8s.io", Why: "a repeated event is patched some minutes later"},
	{Rights: "jobset: * persistentvolumeclaims", Why: "volume claim policies"},
	{Rights: "jobset: delete pods", Why: "pods that are stuck on a dead node are deleted, and pods outside the topology domain of their leader"},
	{Rights: "jobset: patch jobs.batch/status", Why: "API servers before 1.36 accept another template only if the start time is cleared"},
	{Rights: "jobset: patch pods/status", Why: "pods outside the topology domain of their leader get a condition before they are deleted"},
	{Rights: "jobset: patch services", Why: "services left by an older controller are labeled"},

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
	{Rights: "rescheduler: get podgroups.scheduling.k8s.io", Why: "pods that are scheduled as a group are not moved; those of the testbed have no group"},

	// Kinds that the testbed has, but that the suites do not combine with every program.
	{Rights: "appwrapper: * deployments.apps", Why: wrapped},
	{Rights: "appwrapper: * statefulsets.apps", Why: wrapped},
	{Rights: "appwrapper: * elasticjobs.elastic.pytorch.org", Why: wrapped},
	{Rights: "rescheduler: * cronjobs.batch", Why: owner},
	{Rights: "rescheduler: get replicationcontrollers", Why: owner},
	{Rights: "rescheduler: get persistentvolume*", Why: "the volumes of a pod determine on which nodes it can run"},
}

const (
	ttl     = "finished objects are deleted when their TTL has expired"
	wrapped = "kinds that a workload may consist of; the suites wrap Jobs, Services, pods and JobSets"
	root    = "moves are recorded on the root owner; in the suites, these objects have another owner"
	owner   = "kinds that may own pods; the suites' pods belong to Deployments, StatefulSets, Jobs and JobSets"
)
