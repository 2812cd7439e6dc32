package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The webhook holds nobody up: it fails open, quickly, and is asked only where it is needed.
func TestReschedulerWebhookHoldsNobodyUp(t *testing.T) {
	hook := as[admissionv1.MutatingWebhookConfiguration](t, mustParse(t, reschedulerChart, "").named(t, mutating, "")).Webhooks[0]
	if *hook.FailurePolicy != admissionv1.Ignore || *hook.TimeoutSeconds > 2 {
		t.Errorf("policy %s, time-out %d s", *hook.FailurePolicy, *hook.TimeoutSeconds)
	}
	if got := hook.NamespaceSelector.MatchLabels["holdfast.dev/rescheduling"]; got != "enabled" {
		t.Errorf("it is asked in namespaces with %v", hook.NamespaceSelector)
	}
}

func TestReschedulerPolicyStandsInForTheWebhook(t *testing.T) {
	all := mustParse(t, reschedulerChart, installed[reschedulerChart].settings["policy"])
	all.named(t, "MutatingAdmissionPolicy", "")
	all.named(t, "MutatingAdmissionPolicyBinding", "")
	if found := all.find(mutating); len(found) > 0 {
		t.Errorf("%d webhooks are there too", len(found))
	}
	config := as[corev1.ConfigMap](t, all.named(t, "ConfigMap", ""))
	if file := config.Data["config.yaml"]; !strings.Contains(file, "way: Policy") || !strings.Contains(file, "default-scheduler") {
		t.Errorf("the file is %s", file)
	}
	if _, err := render(t, reschedulerChart, "admissionPolicy: {enabled: true}"); err == nil || !strings.Contains(err.Error(), "stands in for the webhook") {
		t.Errorf("both at once: %v", err)
	}
}

func TestReschedulerSchedulerIsBoundToItsAccount(t *testing.T) {
	all := mustParse(t, reschedulerChart, installed[reschedulerChart].settings["everything"])
	all.named(t, "ServiceAccount", "holdfast-scheduler")
	for _, name := range []string{"holdfast-scheduler", "holdfast-scheduler-as-kube-scheduler", "holdfast-scheduler-as-volume-scheduler"} {
		binding := as[rbacv1.ClusterRoleBinding](t, all.named(t, "ClusterRoleBinding", name))
		if s := binding.Subjects[0]; s.Name != "holdfast-scheduler" || s.Namespace != "holdfast" {
			t.Errorf("%s binds %v", name, s)
		}
	}
}

// In place of the cluster's scheduler the chart runs none: it brings the profile, and the right that the cluster's own user lacks.
func TestReschedulerSchedulerMayBeAProfile(t *testing.T) {
	all := mustParse(t, reschedulerChart, installed[reschedulerChart].settings["profile"])
	for _, object := range all {
		second := object.GetName() == "holdfast-scheduler" && object.GetKind() != "ClusterRole" && object.GetKind() != "ClusterRoleBinding"
		component := object.GetLabels()["app.kubernetes.io/component"]
		if second || component == "scheduler" && object.GetKind() != "ConfigMap" {
			t.Errorf("%s %s is for a second scheduler", object.GetKind(), object.GetName())
		}
	}
	role := as[rbacv1.ClusterRole](t, all.named(t, "ClusterRole", "holdfast-scheduler"))
	binding := as[rbacv1.ClusterRoleBinding](t, all.named(t, "ClusterRoleBinding", "holdfast-scheduler"))
	want := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "system:kube-scheduler"}}
	if diff := cmp.Diff(want, binding.Subjects); diff != "" || binding.RoleRef.Name != role.Name {
		t.Errorf("%s is bound to (-want +got):\n%s", binding.RoleRef.Name, diff)
	}
	second := as[rbacv1.ClusterRole](t, mustParse(t, reschedulerChart, "scheduler: {enabled: true}").named(t, "ClusterRole", "holdfast-scheduler"))
	if diff := cmp.Diff(second.Rules, role.Rules); diff != "" {
		t.Errorf("the plugin needs other rights than in a second scheduler:\n%s", diff)
	}
	for values, want := range map[string]string{``: "default-scheduler", `, config: {profiles: [{schedulerName: ours}]}`: "ours"} {
		all := mustParse(t, reschedulerChart, "scheduler: {enabled: true, mode: profile"+values+"}")
		var config struct {
			Profiles []struct {
				SchedulerName string `json:"schedulerName"`
			} `json:"profiles"`
		}
		content := as[corev1.ConfigMap](t, all.named(t, "ConfigMap", "-scheduler")).Data["config.yaml"]
		if err := yaml.Unmarshal([]byte(content), &config); err != nil || len(config.Profiles) != 1 || config.Profiles[0].SchedulerName != want {
			t.Errorf("%s: the profile is %s (%v)", want, content, err)
		}
	}
}

func TestReschedulerSchedulerHasItsFiles(t *testing.T) {
	for file, of := range map[string]string{
		"config.yaml": "second-scheduler.yaml", "rbac.yaml": "rbac.yaml", "profile.yaml": "profile.yaml", "profile-rbac.yaml": "profile-rbac.yaml",
	} {
		want := mustRead(t, filepath.Join("..", "rescheduler", "scheduler", "config", of))
		if diff := cmp.Diff(string(want), string(mustRead(t, filepath.Join(reschedulerChart, "files", "scheduler", file)))); diff != "" {
			t.Errorf("%s is not the file of the scheduler (make generate):\n%s", file, diff)
		}
	}
}

// The plain manifest is what the values add: what the chart's defaults have is in a file of its own.
func TestThePlainSchedulerIsAllThatItNeeds(t *testing.T) {
	file := filepath.Join("..", "config", "rescheduler-scheduler.yaml")
	plain := parse(t, file, string(mustRead(t, file)))
	defaults := mustParse(t, reschedulerChart, "")
	var want, got []string
	for _, object := range mustParse(t, reschedulerChart, "scheduler: {enabled: true}") {
		if !slices.ContainsFunc(defaults, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == object.GetKind() && o.GetName() == object.GetName()
		}) {
			want = append(want, object.GetKind()+" "+strings.TrimPrefix(object.GetName(), "test-"))
		}
	}
	for _, object := range plain {
		if object.GetKind() != "Namespace" {
			got = append(got, object.GetKind()+" "+object.GetName())
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 8 {
		t.Errorf("(-chart +manifest, make generate):\n%s", diff)
	}
}

func TestReschedulerSchedulerRunsWhereTheManagerMay(t *testing.T) {
	all := mustParse(t, reschedulerChart, `
scheduler: {enabled: true}
nodeSelector: {role: system}
tolerations: [{key: system, operator: Exists}]
priorityClassName: system-cluster-critical
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}
`)
	deployments := all.find("Deployment")
	if len(deployments) != 2 {
		t.Fatalf("%d deployments", len(deployments))
	}
	for _, object := range deployments {
		pod := as[appsv1.Deployment](t, object).Spec.Template.Spec
		if pod.NodeSelector["role"] != "system" || len(pod.Tolerations) != 1 || pod.PriorityClassName != "system-cluster-critical" || pod.Affinity == nil {
			t.Errorf("%s: %v, %v, %q, %v", object.GetName(), pod.NodeSelector, pod.Tolerations, pod.PriorityClassName, pod.Affinity)
		}
	}
}
