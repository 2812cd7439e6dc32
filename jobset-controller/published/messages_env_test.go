//go:build envtest

package published

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/jobset/pkg/features"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// refusedCreations returns JobSets that are rejected by the upstream webhook or definition.
func refusedCreations() map[string]*JobSet {
	long := strings.Repeat("x", 60)
	js := func(change func(*v1alpha2.JobSetSpec)) *JobSet {
		return MakeJobSet("a").Entry("first", 2).Entry("second", 1).Change(func(js *v1alpha2.JobSet) { change(&js.Spec) })
	}
	rule := func(change func(*v1alpha2.FailurePolicyRule)) *JobSet {
		r := v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSet}
		change(&r)
		return js(func(*v1alpha2.JobSetSpec) {}).Rule(r)
	}
	first := func(change func(*v1alpha2.ReplicatedJob)) *JobSet {
		return js(func(s *v1alpha2.JobSetSpec) { change(&s.ReplicatedJobs[0]) })
	}
	coordinator := func(c v1alpha2.Coordinator) *JobSet {
		return js(func(s *v1alpha2.JobSetSpec) { s.Coordinator = &c })
	}
	claims := func(change func(*v1alpha2.JobSetSpec)) *JobSet {
		return withClaim().Change(func(js *v1alpha2.JobSet) { change(&js.Spec); js.Name = "b" })
	}
	dependsOn := func(name string) func(*v1alpha2.ReplicatedJob) { return DependsOn(name, v1alpha2.DependencyReady) }
	return map[string]*JobSet{
		"InPlaceRestart without its gate": js(func(s *v1alpha2.JobSetSpec) {
			s.FailurePolicy = &v1alpha2.FailurePolicy{RestartStrategy: v1alpha2.InPlaceRestart}
		}),
		"RestartJob without its gate":         rule(func(r *v1alpha2.FailurePolicyRule) { r.Action = v1alpha2.RestartJob }),
		"first replicatedJob depends":         first(dependsOn("second")),
		"depends on a later one":              MakeJobSet("a").Entry("first", 1).Entry("second", 1, dependsOn("third")).Entry("third", 1),
		"InOrder and dependsOn":               MakeJobSet("a").Entry("first", 1).Entry("second", 1, dependsOn("first")).InOrder(),
		"subdomain with capitals":             js(func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{Subdomain: "A"} }),
		"subdomain with a dot":                js(func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{Subdomain: "a.b"} }),
		"long subdomain":                      js(func(s *v1alpha2.JobSetSpec) { s.Network = &v1alpha2.Network{Subdomain: long + "xxxx"} }),
		"managedBy without a domain":          js(func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("me") }),
		"long managedBy":                      js(func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("a.io/" + long) }),
		"too many pods":                       first(func(j *v1alpha2.ReplicatedJob) { j.Template.Spec.Parallelism = ptr.To[int32](math.MaxInt32) }),
		"group with capitals":                 first(func(j *v1alpha2.ReplicatedJob) { j.GroupName = "G" }),
		"long group":                          first(func(j *v1alpha2.ReplicatedJob) { j.GroupName = long + "xxxx" }),
		"Jobs that begin with a digit":        MakeJobSet("9").Workers(1),
		"long Job names":                      MakeJobSet("a").Entry(long, 1000),
		"long pod names":                      MakeJobSet("a").Entry(long[:52], 1, func(j *v1alpha2.ReplicatedJob) { j.Template.Spec.Completions = ptr.To[int32](11) }),
		"success of an unknown replicatedJob": MakeJobSet("a").Workers(1).Success(v1alpha2.OperatorAll, "x"),
		"rule with a hyphen":                  rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = "a-b" }),
		"long rule name":                      rule(func(r *v1alpha2.FailurePolicyRule) { r.Name = strings.Repeat("a", 129) }),
		"two rules with the same name":        rule(func(*v1alpha2.FailurePolicyRule) {}).Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.FailJobSet}),
		"rule for an unknown replicatedJob":   rule(func(r *v1alpha2.FailurePolicyRule) { r.TargetReplicatedJobs = []string{"x"} }),
		"unknown reason":                      rule(func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureReasons = []string{"Mood"} }),
		"unknown coordinator":                 coordinator(v1alpha2.Coordinator{ReplicatedJob: "x"}),
		"coordinator beyond the Jobs":         coordinator(v1alpha2.Coordinator{ReplicatedJob: "first", JobIndex: 2}),
		"coordinator beyond the pods":         coordinator(v1alpha2.Coordinator{ReplicatedJob: "first", PodIndex: 1}),
		"coordinator without an index": coordinator(v1alpha2.Coordinator{ReplicatedJob: "first"}).Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
		}),
		"long address of the coordinator": MakeJobSet("a").Entry(long[:50], 1).Change(func(js *v1alpha2.JobSet) {
			js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: long[:50]}
			js.Spec.Network = &v1alpha2.Network{Subdomain: long[:50]}
		}),
		"two claims with the same name": claims(func(s *v1alpha2.JobSetSpec) {
			s.VolumeClaimPolicies = append(s.VolumeClaimPolicies, s.VolumeClaimPolicies[0])
		}),
		"claim that no pod mounts": claims(func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].VolumeMounts = nil
		}),
		"claim with capitals":    claims(func(s *v1alpha2.JobSetSpec) { s.VolumeClaimPolicies[0].Templates[0].Name = "Data" }),
		"claim with a long name": claims(func(s *v1alpha2.JobSetSpec) { s.VolumeClaimPolicies[0].Templates[0].Name = long + "xx" }),
		"claim with a namespace": claims(func(s *v1alpha2.JobSetSpec) { s.VolumeClaimPolicies[0].Templates[0].Namespace = "other" }),
		"claim with the name of a volume": claims(func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data"}}
		}),
		"claim that exists and is not retained": existing(corev1.ReadWriteOnce),
		"claim that exists and differs":         existing(corev1.ReadOnlyMany),
	}
}

// existing returns a JobSet that uses the claim created by the test, with the given access mode.
func existing(mode corev1.PersistentVolumeAccessMode) *JobSet {
	return withClaim().Change(func(js *v1alpha2.JobSet) {
		claim := &js.Spec.VolumeClaimPolicies[0].Templates[0].Spec
		claim.AccessModes, claim.VolumeMode = []corev1.PersistentVolumeAccessMode{mode}, ptr.To(corev1.PersistentVolumeFilesystem)
	})
}

// refusedUpdates returns updates of a JobSet "a" with a replicatedJob "first".
func refusedUpdates() map[string]func(*v1alpha2.JobSetSpec) {
	return map[string]func(*v1alpha2.JobSetSpec){
		"another image": func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Image = "other"
		},
		"another manager":        func(s *v1alpha2.JobSetSpec) { s.ManagedBy = ptr.To("a.io/b") },
		"another network":        func(s *v1alpha2.JobSetSpec) { s.Network.EnableDNSHostnames = ptr.To(false) },
		"another success policy": func(s *v1alpha2.JobSetSpec) { s.SuccessPolicy.Operator = v1alpha2.OperatorAny },
		"another startup policy": func(s *v1alpha2.JobSetSpec) { s.StartupPolicy.StartupPolicyOrder = v1alpha2.InOrder },
		"no parallelism":         func(s *v1alpha2.JobSetSpec) { resize(s, 0, 0) },
		"parallelism alone":      func(s *v1alpha2.JobSetSpec) { resize(s, 2, 1) },
		"a replicatedJob is added": func(s *v1alpha2.JobSetSpec) {
			s.ReplicatedJobs = append(s.ReplicatedJobs, *s.ReplicatedJobs[0].DeepCopy())
			s.ReplicatedJobs[1].Name = "second"
		},
	}
}

func resize(s *v1alpha2.JobSetSpec, parallelism, completions int32) {
	s.ReplicatedJobs[0].Template.Spec.Parallelism, s.ReplicatedJobs[0].Template.Spec.Completions = &parallelism, &completions
}

// refusals submits all refusedCreations and refusedUpdates without storing them, and returns the API server's messages
// for each case.
func (s *site) refusals() map[string][]string {
	s.Helper()
	found := map[string][]string{}
	sandbox.Eventually(s.T, func() string { // until the webhooks respond
		if err := s.Create(s.Context(), MakeJobSet("valid").Workers(1).Namespace("default").Obj(), client.DryRunAll); err != nil {
			return err.Error()
		}
		return ""
	})
	for name, js := range refusedCreations() {
		found[name] = causes(s.Create(s.Context(), js.Namespace("default").Obj(), client.DryRunAll))
	}
	var stored v1alpha2.JobSet
	must(s.T, s.Get(s.Context(), client.ObjectKey{Namespace: "default", Name: "a"}, &stored))
	for name, change := range refusedUpdates() {
		changed := stored.DeepCopy()
		change(&changed.Spec)
		found[name] = causes(s.Update(s.Context(), changed, client.DryRunAll))
	}
	return found
}

// valueOf matches the part of a field error that precedes its message.
var valueOf = regexp.MustCompile(`^(Internal error|Forbidden|Too long|Invalid value(: ("[^"]*"|[0-9-]+|null|\[.*\]|\{.*\}))?): `)

// causes returns the messages of a rejection without the rejected values.
func causes(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var messages []string
	for _, cause := range status.Status().Details.Causes {
		messages = append(messages, valueOf.ReplaceAllString(cause.Message, ""))
	}
	return messages
}

// Users and tools search for the messages of the upstream webhook and definition. Our message must contain the upstream
// one, but may have additional text.
func TestRejectionsHaveThePublishedMessages(t *testing.T) {
	must(t, features.SetEnable(features.ElasticJobSet, true))
	t.Cleanup(func() { must(t, features.SetEnable(features.ElasticJobSet, false)) })
	s := newSite(t)
	claim := withClaim().Spec.VolumeClaimPolicies[0].Templates[0].DeepCopy()
	claim.Namespace, claim.Name = "default", "data-a"
	must(t, s.Create(t.Context(), claim))

	stop := s.take(s.published())
	s.submit(MakeJobSet("a").Entry("first", 1))
	published := s.refusals()
	stop()
	s.take(s.ours("--feature-gates=ElasticJobSet=true"))
	ours := s.refusals()
	for name, messages := range published {
		if len(messages) == 0 {
			t.Errorf("%s: the upstream webhook does not reject it", name)
		}
		for _, message := range messages {
			if !strings.Contains(strings.Join(ours[name], "\n"), message) {
				t.Errorf("%s:\npublished %q\nours      %q", name, message, ours[name])
			}
		}
	}
}
