//go:build envtest

package v1alpha1_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

var k8s client.Client

func TestMain(m *testing.M) {
	config, stop, err := apiserver.Start("../../../charts/elastic-operator/files/crds")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scheme := runtime.NewScheme()
	_ = clientgoscheme.AddToScheme(scheme)
	_ = v1alpha1.AddToScheme(scheme)
	if k8s, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	os.Exit(code)
}

func TestInvalidJobsAreRejected(t *testing.T) {
	type job = v1alpha1.ElasticJob
	for name, tc := range map[string]struct {
		change func(*job)
		want   string
	}{
		"min above max":             {func(j *job) { j.Spec.MinReplicas = ptr.To(int32(6)) }, "minReplicas must not be larger than maxReplicas"},
		"fewer replicas than min":   {func(j *job) { j.Spec.MinReplicas = ptr.To(int32(3)) }, "replicaSpecs.Worker.replicas must not be smaller than minReplicas"},
		"more replicas than max":    {func(j *job) { j.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(int32(6)) }, "replicaSpecs.Worker.replicas must not be larger than maxReplicas"},
		"min of zero":               {func(j *job) { j.Spec.MinReplicas = ptr.To(int32(0)) }, "spec.minReplicas"},
		"an unknown restart policy": {func(j *job) { j.Spec.ReplicaSpecs.Worker.RestartPolicy = "Sometimes" }, `Unsupported value: "Sometimes"`},
		"an unknown backend":        {func(j *job) { j.Spec.RdzvBackend = "zeus" }, `Unsupported value: "zeus"`},
		"etcd without an endpoint": {
			func(j *job) { j.Spec.RdzvEndpoint, j.Spec.RdzvBackend = "", v1alpha1.BackendEtcd }, "rdzvBackend etcd and etcd-v2 need an rdzvEndpoint",
		},
		"an invalid Service name": {func(j *job) { j.Name = "a.b" }, "metadata.name must begin with a letter"},
		"a name that is too long": {func(j *job) { j.Name = strings.Repeat("a", 51) }, "at most 50 characters"},
		"conflicting back-off limits": {func(j *job) {
			j.Spec.BackoffLimit, j.Spec.NestedRunPolicy = ptr.To(int32(1)), &v1alpha1.RunPolicy{BackoffLimit: ptr.To(int32(2))}
		}, "backoffLimit is set more than once"},
		"conflicting clean-up policies": {func(j *job) {
			j.Spec.CleanPodPolicy, j.Spec.LegacyRunPolicy = ptr.To(v1alpha1.CleanAll), &v1alpha1.RunPolicy{CleanPodPolicy: ptr.To(v1alpha1.CleanNone)}
		}, "cleanPodPolicy is set more than once"},
		"conflicting TTLs, neither at the top level": {func(j *job) {
			j.Spec.NestedRunPolicy = &v1alpha1.RunPolicy{TTLSecondsAfterFinished: ptr.To(int32(1))}
			j.Spec.LegacyRunPolicy = &v1alpha1.RunPolicy{TTLSecondsAfterFinished: ptr.To(int32(2))}
		}, "ttlSecondsAfterFinished is set more than once"},
		"conflicting deadlines": {func(j *job) {
			j.Spec.ActiveDeadlineSeconds, j.Spec.LegacyRunPolicy = ptr.To(int64(1)), &v1alpha1.RunPolicy{ActiveDeadlineSeconds: ptr.To(int64(2))}
		}, "activeDeadlineSeconds is set more than once"},
		"percent without its type": {func(j *job) {
			j.Spec.SuccessPolicy = &v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAny, Percent: ptr.To(int32(5))}
		}, "percent is required with type Percent"},
		"type Percent without a percentage": {func(j *job) { j.Spec.SuccessPolicy = &v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessPercent} }, "percent is required with type Percent"},
		"max of zero":                       {func(j *job) { j.Spec.MaxReplicas = ptr.To(int32(0)) }, "spec.maxReplicas: Invalid value: 0"},
		"too many replicas":                 {func(j *job) { j.Spec.MaxReplicas, j.Spec.ReplicaSpecs.Worker.Replicas = nil, ptr.To(int32(5001)) }, "spec.replicaSpecs.Worker.replicas: Invalid value: 5001"},
		"no replicas":                       {func(j *job) { j.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(int32(0)) }, "spec.replicaSpecs.Worker.replicas: Invalid value: 0"},
		"zero granted replicas":             {func(j *job) { j.Spec.GrantedReplicas = ptr.To(int32(0)) }, "spec.grantedReplicas: Invalid value: 0"},
		"a negative back-off limit":         {func(j *job) { j.Spec.BackoffLimit = ptr.To(int32(-1)) }, "spec.backoffLimit: Invalid value: -1"},
		"a negative back-off limit in runPolicy": {
			func(j *job) { j.Spec.NestedRunPolicy = &v1alpha1.RunPolicy{BackoffLimit: ptr.To(int32(-1))} }, "spec.runPolicy.backoffLimit: Invalid value: -1",
		},
		"a negative TTL":     {func(j *job) { j.Spec.TTLSecondsAfterFinished = ptr.To(int32(-1)) }, "spec.ttlSecondsAfterFinished: Invalid value: -1"},
		"a deadline of zero": {func(j *job) { j.Spec.ActiveDeadlineSeconds = ptr.To(int64(0)) }, "spec.activeDeadlineSeconds: Invalid value: 0"},
		"an unknown clean-up policy": {
			func(j *job) { j.Spec.CleanPodPolicy = ptr.To(v1alpha1.CleanPodPolicy("Some")) }, `spec.cleanPodPolicy: Unsupported value: "Some"`,
		},
		"an unknown success policy": {
			func(j *job) { j.Spec.SuccessPolicy = &v1alpha1.SuccessPolicy{Type: "Most"} }, `spec.successPolicy.type: Unsupported value: "Most"`,
		},
		"0 percent":                       {func(j *job) { j.Spec.SuccessPolicy = percent(0) }, "spec.successPolicy.percent: Invalid value: 0"},
		"101 percent":                     {func(j *job) { j.Spec.SuccessPolicy = percent(101) }, "spec.successPolicy.percent: Invalid value: 101"},
		"an exit code above 255":          {func(j *job) { j.Spec.ReplicaSpecs.Worker.PermanentExitCodes = []int32{256} }, "permanentExitCodes"},
		"a manager name that is too long": {func(j *job) { j.Spec.ManagedBy = ptr.To(strings.Repeat("a", 64)) }, "spec.managedBy: Too long"},
		"exit code 0":                     {func(j *job) { j.Spec.ReplicaSpecs.Worker.PermanentExitCodes = []int32{0} }, "permanentExitCodes"},
		"fewer granted than min":          {func(j *job) { j.Spec.MinReplicas, j.Spec.GrantedReplicas = ptr.To(int32(2)), ptr.To(int32(1)) }, "grantedReplicas must not be smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			err := k8s.Create(t.Context(), MakeElasticJob("a").Namespace("default").With(tc.change).Obj(), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func percent(n int32) *v1alpha1.SuccessPolicy {
	return &v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessPercent, Percent: ptr.To(n)}
}

// For each number, the last valid value is accepted and the first invalid one is rejected.
func TestBoundsOfTheElasticPolicy(t *testing.T) {
	type policy = v1alpha1.ElasticPolicy
	const day, week = 24 * 60 * 60, 7 * 24 * 60 * 60
	for field, tc := range map[string]struct {
		set         func(*policy, *int32)
		least, most int32 // most is 0 if there is no upper bound
	}{
		"settleSeconds":         {func(p *policy, n *int32) { p.SettleSeconds = n }, 0, day},
		"disruptionLimit":       {func(p *policy, n *int32) { p.DisruptionLimit = n }, 0, 0},
		"lostNodeSeconds":       {func(p *policy, n *int32) { p.LostNodeSeconds = n }, 1, day},
		"surplusPendingSeconds": {func(p *policy, n *int32) { p.SurplusPendingSeconds = n }, 0, day},
		"surplusRetrySeconds":   {func(p *policy, n *int32) { p.SurplusRetrySeconds = n }, 1, week},
	} {
		t.Run(field, func(t *testing.T) {
			try := func(n int32) error {
				job := MakeElasticJob("a").Namespace("default").Elastic(func(p *policy) { tc.set(p, &n) }).Obj()
				return k8s.Create(t.Context(), job, client.DryRunAll)
			}
			taken, refused := []int32{tc.least}, []int32{tc.least - 1}
			if tc.most > 0 {
				taken, refused = append(taken, tc.most), append(refused, tc.most+1)
			}
			for _, n := range taken {
				if err := try(n); err != nil {
					t.Errorf("%d: %v", n, err)
				}
			}
			for _, n := range refused {
				if err := try(n); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("spec.elasticPolicy.%s: Invalid value: %d", field, n)) {
					t.Errorf("%d: %v", n, err)
				}
			}
		})
	}
}

// The minimum and maximum of each field are accepted.
func TestExtremeValuesAreAccepted(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ElasticJob){
		"one worker": func(j *v1alpha1.ElasticJob) {
			one := ptr.To(int32(1))
			j.Spec.MinReplicas, j.Spec.MaxReplicas, j.Spec.ReplicaSpecs.Worker.Replicas, j.Spec.GrantedReplicas = one, one, one, one
		},
		"no failures, deleted at once, one second": func(j *v1alpha1.ElasticJob) {
			j.Spec.BackoffLimit, j.Spec.TTLSecondsAfterFinished, j.Spec.ActiveDeadlineSeconds = ptr.To(int32(0)), ptr.To(int32(0)), ptr.To(int64(1))
		},
		"1 percent":           func(j *v1alpha1.ElasticJob) { j.Spec.SuccessPolicy = percent(1) },
		"100 percent":         func(j *v1alpha1.ElasticJob) { j.Spec.SuccessPolicy = percent(100) },
		"all exit codes":      func(j *v1alpha1.ElasticJob) { j.Spec.ReplicaSpecs.Worker.PermanentExitCodes = []int32{1, 255} },
		"the longest name":    func(j *v1alpha1.ElasticJob) { j.Name = strings.Repeat("a", 50) },
		"the longest manager": func(j *v1alpha1.ElasticJob) { j.Spec.ManagedBy = ptr.To(strings.Repeat("a", 63)) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := k8s.Create(t.Context(), MakeElasticJob("a").Namespace("default").With(change).Obj(), client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRunPolicyIsAcceptedInAllFields(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ElasticJobSpec){
		"at the top level": func(s *v1alpha1.ElasticJobSpec) { s.BackoffLimit = ptr.To(int32(7)) },
		"in runPolicy": func(s *v1alpha1.ElasticJobSpec) {
			s.NestedRunPolicy = &v1alpha1.RunPolicy{BackoffLimit: ptr.To(int32(7))}
		},
		"in RunPolicy": func(s *v1alpha1.ElasticJobSpec) {
			s.LegacyRunPolicy = &v1alpha1.RunPolicy{BackoffLimit: ptr.To(int32(7))}
		},
		"twice with the same value": func(s *v1alpha1.ElasticJobSpec) {
			s.BackoffLimit, s.LegacyRunPolicy = ptr.To(int32(7)), &v1alpha1.RunPolicy{BackoffLimit: ptr.To(int32(7)), CleanPodPolicy: ptr.To(v1alpha1.CleanNone)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := MakeElasticJob("a").Namespace("default").With(func(j *v1alpha1.ElasticJob) { change(&j.Spec) }).Obj()
			want := job.Spec.DeepCopy()
			if err := k8s.Create(t.Context(), job, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			got := []*int32{job.Spec.BackoffLimit}
			for _, p := range []*v1alpha1.RunPolicy{job.Spec.NestedRunPolicy, job.Spec.LegacyRunPolicy} {
				if p != nil {
					got = append(got, p.BackoffLimit)
				}
			}
			n := 0
			for _, p := range got {
				if p != nil && *p == 7 {
					n++
				}
			}
			if n == 0 || want.LegacyRunPolicy != nil && job.Spec.LegacyRunPolicy == nil {
				t.Errorf("the stored spec is %+v", job.Spec)
			}
		})
	}
}

func TestManagedByIsImmutable(t *testing.T) {
	job := MakeElasticJob("managed").Namespace("default").With(func(j *v1alpha1.ElasticJob) { j.Spec.ManagedBy = ptr.To("somebody") }).Obj()
	if err := k8s.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for _, to := range []*string{nil, ptr.To("else")} {
		changed := job.DeepCopy()
		changed.Spec.ManagedBy = to
		if err := k8s.Update(t.Context(), changed); err == nil || !strings.Contains(err.Error(), "managedBy is immutable") {
			t.Errorf("to %v: %v", to, err)
		}
	}
}
