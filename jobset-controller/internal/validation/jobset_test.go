package validation

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

var all = policy.Features{RestartJob: true, InPlaceRestart: true, ElasticJobSet: true}

// js returns a JobSet with replicatedJobs a and b.
func js() *JobSet { return MakeJobSet("js").Entry("a", 2).Entry("b", 1) }

func rule(change func(*v1alpha2.FailurePolicyRule)) *JobSet {
	r := v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSet}
	change(&r)
	return js().Rule(r)
}

func spec(change func(*v1alpha2.JobSetSpec)) *JobSet {
	return js().Change(func(js *v1alpha2.JobSet) { change(&js.Spec) })
}

func coordinator(c v1alpha2.Coordinator) *JobSet {
	return spec(func(s *v1alpha2.JobSetSpec) { s.Coordinator = &c })
}

func job(change func(*batchv1.JobSpec)) func(*v1alpha2.ReplicatedJob) {
	return func(e *v1alpha2.ReplicatedJob) { change(&e.Template.Spec) }
}

// volumes returns a JobSet with volume claims of the given names. Its first replicatedJob mounts "data".
func volumes(names ...string) *JobSet {
	return spec(func(s *v1alpha2.JobSetSpec) {
		s.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}}
		var templates []corev1.PersistentVolumeClaim
		for _, name := range names {
			templates = append(templates, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		s.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{{Templates: templates}}
	})
}

func inPlace(changes ...func(*v1alpha2.ReplicatedJob)) *JobSet {
	base := job(func(s *batchv1.JobSpec) {
		s.BackoffLimit, s.PodReplacementPolicy = ptr.To[int32](math.MaxInt32), ptr.To(batchv1.Failed)
	})
	return MakeJobSet("js").Entry("a", 1, append([]func(*v1alpha2.ReplicatedJob){base}, changes...)...).Strategy(v1alpha2.InPlaceRestart)
}

const (
	label1035 = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
		"alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
	subdomain1123 = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
		"alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	jobsTooLong = "JobSet name is too long, job names generated for this JobSet will exceed 63 characters"
	podsTooLong = "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
	noEntry     = "invalid replicatedJob name 'x' does not appear in .spec.ReplicatedJobs"
)

var long = strings.Repeat("x", 60)

// The test compares the full text of each message, because users search for it.
func TestJobSet(t *testing.T) {
	cases := map[string]struct {
		js       *JobSet
		features policy.Features
		want     string // all errors; empty if the JobSet is accepted
	}{
		"a plain JobSet":                             {js(), policy.Features{}, ""},
		"a JobSet without replicatedJobs":            {MakeJobSet("js"), policy.Features{}, ""},
		"a replicatedJob without Jobs":               {MakeJobSet("js").Entry("a", 0), policy.Features{}, ""},
		"a generated name":                           {js().Change(func(js *v1alpha2.JobSet) { js.Name, js.GenerateName = "", "js-" }), policy.Features{}, ""},
		"a generated name too long":                  {MakeJobSet("js").Entry("a", 2).Change(func(js *v1alpha2.JobSet) { js.Name, js.GenerateName = "", long }), policy.Features{}, `spec.replicatedJobs[0].name: Invalid value: "` + long + `xxxxx-a-1": ` + jobsTooLong + `; spec.replicatedJobs[0].name: Invalid value: "` + long + `xxxxx-a-1-0-xxxxx": ` + podsTooLong},
		"Jobs with bad names":                        {MakeJobSet("9js").Entry("a", 1), all, `spec.replicatedJobs[0].name: Invalid value: "9js-a-0": ` + label1035 + `; spec.replicatedJobs[0].name: Invalid value: "9js-a-0-0-xxxxx": ` + label1035},
		"Jobs with a name too long":                  {MakeJobSet("js").Entry(long, 2), all, `spec.replicatedJobs[0].name: Invalid value: "js-` + long + `-1": ` + jobsTooLong + `; spec.replicatedJobs[0].name: Invalid value: "js-` + long + `-1-0-xxxxx": ` + podsTooLong},
		"pods with a name too long":                  {MakeJobSet("js").Entry(long[:52], 1, job(func(s *batchv1.JobSpec) { s.Completions = ptr.To[int32](11) })), all, `spec.replicatedJobs[0].name: Invalid value: "js-` + long[:52] + `-0-10-xxxxx": ` + podsTooLong},
		"a bad group":                                {MakeJobSet("js").Entry("a", 1, func(e *v1alpha2.ReplicatedJob) { e.GroupName = "G" }), all, `spec.replicatedJobs[0].groupName: Invalid value: "G": ` + label1035},
		"more pods than allowed":                     {MakeJobSet("js").Entry("a", 2, job(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = ptr.To[int32](1<<30), nil })), all, `spec.replicatedJobs[0]: Invalid value: 2147483648: the product of replicas and parallelism must not exceed 2147483647 for replicatedJob 'a'`},
		"the first replicatedJob depends on another": {MakeJobSet("js").Entry("a", 1, DependsOn("b", v1alpha2.DependencyReady)).Entry("b", 1), all, `spec.replicatedJobs[0].dependsOn: Forbidden: DependsOn can't be set for the first ReplicatedJob; spec.replicatedJobs[0].dependsOn[0].name: Invalid value: "b": replicatedJob: a cannot depend on replicatedJob: b`},
		"a replicatedJob depends on itself":          {MakeJobSet("js").Entry("a", 1).Entry("b", 1, DependsOn("b", v1alpha2.DependencyReady)), all, `spec.replicatedJobs[1].dependsOn[0].name: Invalid value: "b": replicatedJob: b cannot depend on replicatedJob: b`},
		"a replicatedJob depends on a later one":     {MakeJobSet("js").Entry("a", 1).Entry("b", 1, DependsOn("c", v1alpha2.DependencyReady)).Entry("c", 1), all, `spec.replicatedJobs[1].dependsOn[0].name: Invalid value: "c": replicatedJob: b cannot depend on replicatedJob: c`},

		"a bad subdomain":                     {spec(func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{Subdomain: "a.b"} }), all, `spec.network.subdomain: Invalid value: "a.b": ` + label1035},
		"a subdomain too long":                {spec(func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{Subdomain: long + "xxxx"} }), all, `spec.network.subdomain: Invalid value: "` + long + `xxxx": .spec.network.subdomain is too long, must be less than 63 characters`},
		"success of an unknown replicatedJob": {js().Success(v1alpha2.OperatorAll, "a", "x"), all, `spec.successPolicy.targetReplicatedJobs[1]: Invalid value: "x": ` + noEntry},
		"a rule for an unknown replicatedJob": {rule(func(r *v1alpha2.FailurePolicyRule) { r.TargetReplicatedJobs = []string{"x"} }), all, `spec.failurePolicy.rules[0].targetReplicatedJobs[0]: Invalid value: "x": invalid replicatedJob name 'x' in failure policy does not appear in .spec.ReplicatedJobs`},
		"a rule with a bad name":              {rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = "a-b" }), all, `spec.failurePolicy.rules[0].name: Invalid value: "a-b": invalid failure policy rule name 'a-b', a failure policy rule name must start with an alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'`},
		"a rule with a name too long":         {rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = strings.Repeat("a", 129) }), all, `spec.failurePolicy.rules[0].name: Invalid value: invalid failure policy rule name of length 129, the rule name must be at least 1 characters long and at most 128 characters long`},
		"a rule without a name":               {rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = "" }), all, ""},
		"rules with the same name":            {rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = "failurePolicyRule1" }).Rule(v1alpha2.FailurePolicyRule{Action: v1alpha2.FailJobSet}), all, `spec.failurePolicy.rules[1].name: Invalid value: "failurePolicyRule1": rule names are not unique, rules with indices [0 1] all have the same name 'failurePolicyRule1'`},
		"an unknown reason":                   {rule(func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureReasons = []string{"DeadlineExceeded", "Mood"} }), all, `spec.failurePolicy.rules[0].onJobFailureReasons[1]: Invalid value: "Mood": invalid job failure reason 'Mood' in failure policy is not a recognized job failure reason (BackoffLimitExceeded, DeadlineExceeded, FailedIndexes, MaxFailedIndexesExceeded, PodFailurePolicy)`},
		"an invalid pattern":                  {rule(func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureMessagePatterns = []string{"ok", "("} }), all, "spec.failurePolicy.rules[0].onJobFailureMessagePatterns[1]: Invalid value: \"(\": is not a regular expression (RE2): error parsing regexp: missing closing ): `(`"},
		"a limit for FailJobSet":              {rule(func(r *v1alpha2.FailurePolicyRule) { r.Action, r.MaxRestarts = v1alpha2.FailJobSet, ptr.To[int32](1) }), all, `spec.failurePolicy.rules[0].maxRestarts: Forbidden: action FailJobSet restarts nothing`},
		"too many Jobs to count":              {MakeJobSet("js").Entry("a", 1025).Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJob}), all, `spec.failurePolicy.rules[0].action: Invalid value: "RestartJob": JobSet cannot have a failure policy rule with RestartJob or RestartJobAndIgnoreMaxRestarts action and a replicated job with replicas > 1024`},
		"single Jobs without the gate":        {rule(func(r *v1alpha2.FailurePolicyRule) { r.Action = v1alpha2.RestartJobAndIgnoreMaxRestarts }), policy.Features{}, `spec.failurePolicy.rules[0].action: Forbidden: RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled`},
		"single Jobs with the gate":           {rule(func(r *v1alpha2.FailurePolicyRule) { r.Action = v1alpha2.RestartJob }), all, ""},

		"rules of an ordered start":                  {js().WaitFor(v1alpha2.WaitForSucceeded, "a"), all, ""},
		"rules without an order":                     {js().WaitFor(v1alpha2.WaitForReady, "a").Change(func(js *v1alpha2.JobSet) { js.Spec.StartupPolicy.StartupPolicyOrder = v1alpha2.AnyOrder }), all, `spec.startupPolicy.rules: Forbidden: rules need startupPolicyOrder InOrder`},
		"a rule that names an unknown replicatedJob": {js().WaitFor(v1alpha2.WaitForReady, "a", "x"), all, `spec.startupPolicy.rules[0].targetReplicatedJobs[1]: Invalid value: "x": ` + noEntry},
		"a rule that names the last replicatedJob":   {js().WaitFor(v1alpha2.WaitForReady, "a", "b"), all, `spec.startupPolicy.rules[0].targetReplicatedJobs[1]: Invalid value: "b": is the last replicatedJob: no later replicatedJob can wait for it`},
		"a replicatedJob that is named twice":        {js().WaitFor(v1alpha2.WaitForReady, "a").WaitFor(v1alpha2.WaitForSucceeded, "a"), all, `spec.startupPolicy.rules[1].targetReplicatedJobs[0]: Duplicate value: "a"`},
		"a replicatedJob that is not named":          {js().Entry("c", 1).WaitFor(v1alpha2.WaitForReady, "a"), all, `spec.startupPolicy.rules: Required value: no rule names "b" (spec.replicatedJobs[1]); every replicatedJob but the last must be named once`},
		"a rule without targets":                     {js().WaitFor(v1alpha2.WaitForReady, "a").WaitFor(v1alpha2.WaitForReady), all, `spec.startupPolicy.rules[1].targetReplicatedJobs: Required value: a rule must name at least one replicatedJob`},
		"a rule for a JobSet of one replicatedJob":   {MakeJobSet("js").Entry("a", 1).WaitFor(v1alpha2.WaitForReady, "a"), all, `spec.startupPolicy.rules[0].targetReplicatedJobs[0]: Invalid value: "a": is the last replicatedJob: no later replicatedJob can wait for it`},
		"a rule for a JobSet of none":                {MakeJobSet("js").WaitFor(v1alpha2.WaitForReady, "x"), all, `spec.startupPolicy.rules[0].targetReplicatedJobs[0]: Invalid value: "x": ` + noEntry},

		"a coordinator": {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a", JobIndex: 1}), all, ""},
		"a coordinator in an unknown replicatedJob": {coordinator(v1alpha2.Coordinator{ReplicatedJob: "x"}), all, `spec.coordinator.replicatedJob: Invalid value: "x": coordinator replicatedJob x does not exist`},
		"a coordinator beyond replicas":             {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a", JobIndex: 2}), all, `spec.coordinator.jobIndex: Invalid value: 2: coordinator job index 2 is invalid for replicatedJob a`},
		"a coordinator with a negative index":       {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a", JobIndex: -1}), all, `spec.coordinator.jobIndex: Invalid value: -1: coordinator job index -1 is invalid for replicatedJob a`},
		"a coordinator beyond its pods":             {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a", PodIndex: 1}), all, `spec.coordinator.podIndex: Invalid value: 1: coordinator pod index 1 is invalid for replicatedJob a job index 0`},
		"a coordinator without an index": {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a"}).Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
		}), all, `spec.coordinator.replicatedJob: Invalid value: "a": job for coordinator pod must be indexed completion mode, and completions number must be set`},
		"a coordinator without completions":  {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a"}).Change(func(js *v1alpha2.JobSet) { js.Spec.ReplicatedJobs[0].Template.Spec.Completions = nil }), all, `spec.coordinator.replicatedJob: Invalid value: "a": job for coordinator pod must be indexed completion mode, and completions number must be set`},
		"a coordinator with a long address":  {coordinator(v1alpha2.Coordinator{ReplicatedJob: "a"}).Change(func(js *v1alpha2.JobSet) { js.Spec.Network = &v1alpha2.Network{Subdomain: long} }), all, `spec.coordinator: Invalid value: "js-a-0-0.` + long + `": spec will lead to invalid label value "js-a-0-0.` + long + `" for coordinator label "jobset.sigs.k8s.io/coordinator" (long JobSet / ReplicatedJob / SubDomain name?): must be no more than 63 bytes`},
		"managed by another controller":      {spec(func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }), all, ""},
		"managed by a name without a domain": {spec(func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("kueue") }), all, `spec.managedBy: Invalid value: "kueue": must be a domain-prefixed path (such as "acme.io/foo")`},
		"managed by a name too long":         {spec(func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("a.io/" + long) }), all, `spec.managedBy: Too long: may not be more than 63 bytes`},

		"a claim":                       {volumes("data"), all, ""},
		"a claim without a name":        {volumes(""), all, `spec.volumeClaimPolicies[0].templates[0].metadata.name: Required value: pods mount the claim by this name`},
		"a claim with a bad name":       {volumes("Data"), all, `spec.volumeClaimPolicies[0].templates[0].metadata.name: Invalid value: "Data": ` + subdomain1123 + `; spec.volumeClaimPolicies[0].templates[0].metadata.name: Invalid value: "Data": replicatedJob containers don't have a matching volumeMount: Data from VolumeClaimPolicies`},
		"two claims with the same name": {volumes("data", "data"), all, `spec.volumeClaimPolicies[0].templates[1].metadata.name: Invalid value: "data": names must be unique for VolumeClaimPolicies template`},
		"a claim that no pod mounts":    {volumes("data", "spare"), all, `spec.volumeClaimPolicies[0].templates[1].metadata.name: Invalid value: "spare": replicatedJob containers don't have a matching volumeMount: spare from VolumeClaimPolicies`},
		"a claim alongside a volume": {volumes("data").Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data"}}
		}), all, `spec.replicatedJobs[1].template.spec.template.spec.volumes[0].name: Invalid value: "data": volume name conflicts with VolumeClaimPolicy template name: data`},
		"a claim with a name too long": {volumes("data").Change(func(js *v1alpha2.JobSet) {
			js.Name = long[:50]
			js.Spec.ReplicatedJobs[0].Replicas = 1
			js.Spec.VolumeClaimPolicies[0].Templates[0].Name = long[:14]
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].VolumeMounts[0].Name = long[:14]
		}), all, `spec.volumeClaimPolicies[0].templates[0].metadata.name: Invalid value: "` + long[:14] + `": VolumeClaimPolicies template name is too long, the claim name "` + long[:14] + `-` + long[:50] + `" will exceed 63 characters`},
		"restarts in place by attempts": {inPlace(), all, ""},
		"without the gate":              {inPlace(), policy.Features{}, `spec.failurePolicy.restartStrategy: Forbidden: InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled`},
		"in place in two ways":          {inPlace().Annotation(v1alpha2.InPlaceTimeoutKey, "60s"), all, `spec.failurePolicy.restartStrategy: Forbidden: InPlaceRestart cannot be combined with annotation alpha.jobset.sigs.k8s.io/inplace-timeout, which restarts in place in another way; remove one of them`},
		"in place in order":             {inPlace().InOrder(), all, `spec.failurePolicy.restartStrategy: Forbidden: InPlaceRestart cannot be combined with startupPolicyOrder InOrder or with dependsOn: its agents wait for all pods of the JobSet, so the first stage would never be ready`},
		"in place with dependsOn": {inPlace().Change(func(js *v1alpha2.JobSet) {
			second := *js.Spec.ReplicatedJobs[0].DeepCopy()
			second.Name, second.DependsOn = "b", []v1alpha2.DependsOn{{Name: "a", Status: v1alpha2.DependencyReady}}
			js.Spec.ReplicatedJobs = append(js.Spec.ReplicatedJobs, second)
		}), all, `spec.failurePolicy.restartStrategy: Forbidden: InPlaceRestart cannot be combined with startupPolicyOrder InOrder or with dependsOn: its agents wait for all pods of the JobSet, so the first stage would never be ready`},
		"in place with a backoffLimit":             {inPlace(job(func(s *batchv1.JobSpec) { s.BackoffLimit = ptr.To[int32](6) })), all, `spec.replicatedJobs[0].template.spec.backoffLimit: Invalid value: 6: replicatedJob a: must be set to 2147483647 (MaxInt32) when in-place restart is enabled`},
		"in place without a podReplacementPolicy":  {inPlace(job(func(s *batchv1.JobSpec) { s.PodReplacementPolicy = nil })), all, `spec.replicatedJobs[0].template.spec.podReplacementPolicy: Invalid value: "": replicatedJob a: must be set to Failed when in-place restart is enabled`},
		"in place with more completions than pods": {inPlace(job(func(s *batchv1.JobSpec) { s.Completions = ptr.To[int32](5) })), all, `spec.replicatedJobs[0].template.spec.completions: Invalid value: 5: replicatedJob a: completions and parallelism must be set and equal to each other when in-place restart is enabled`},
		"an invalid timeout":                       {js().Annotation(v1alpha2.InPlaceTimeoutKey, "60"), all, `metadata.annotations[alpha.jobset.sigs.k8s.io/inplace-timeout]: Invalid value: "60": "60" is not a duration such as "60s" or "1m30s"`},
		"spares without in-place restarts":         {js().Annotation(v1alpha2.SparesKey, "1"), all, `metadata.annotations[holdfast.dev/spares]: Forbidden: spares need in-place restarts; set the annotation alpha.jobset.sigs.k8s.io/inplace-timeout of the JobSet`},
		"spares with them":                         {js().Annotation(v1alpha2.SparesKey, "1").Annotation(v1alpha2.InPlaceTimeoutKey, "60s"), all, ""},
		"an invalid timeout for stuck pods":        {js().Annotation(v1alpha2.StuckPodTimeoutKey, "60"), all, `metadata.annotations[holdfast.dev/stuck-pod-timeout]: Invalid value: "60": "60" is not a duration such as "60s" or "1m30s"`},
		"an invalid number of restarts":            {js().Annotation(v1alpha2.InPlaceRestartsKey, "many"), all, `metadata.annotations[alpha.jobset.sigs.k8s.io/inplace-restarts]: Invalid value: "many": must be a number of restarts from 0 to 2147483647`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, listed(Of(c.js.Obj(), c.features))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func listed(p Problems) string {
	var texts []string
	for _, err := range p.All() {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func TestStops(t *testing.T) {
	for name, c := range map[string]struct {
		js   *JobSet
		want bool
	}{
		"nothing":                           {js(), false},
		"a disabled feature":                {rule(func(r *v1alpha2.FailurePolicyRule) { r.Action = v1alpha2.RestartJob }), true},
		"an invalid sequence":               {js().WaitFor(v1alpha2.WaitForReady, "x"), true},
		"a pattern that matches nothing":    {rule(func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureMessagePatterns = []string{"("} }), false},
		"a coordinator that does not exist": {coordinator(v1alpha2.Coordinator{ReplicatedJob: "x"}), false},
	} {
		if got := Of(c.js.Obj(), policy.Features{}).Stops(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
