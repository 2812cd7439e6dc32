package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

// The webhook never blocks a pod: it fails open, times out quickly, and is called only where it is needed.
func TestReschedulerWebhookFailsOpen(t *testing.T) {
	hook := as[admissionv1.MutatingWebhookConfiguration](t, mustParse(t, reschedulerChart, "").named(t, mutating, "")).Webhooks[0]
	if *hook.FailurePolicy != admissionv1.Ignore || *hook.TimeoutSeconds > 2 {
		t.Errorf("policy %s, timeout %d s", *hook.FailurePolicy, *hook.TimeoutSeconds)
	}
	if got := hook.NamespaceSelector.MatchLabels["holdfast.dev/rescheduling"]; got != "enabled" {
		t.Errorf("the webhook is called in namespaces with %v", hook.NamespaceSelector)
	}
}

// The role does not include permissions for disabled features. For example, a manager that is configured not to taint
// nodes is not allowed to taint them.
func TestReschedulerPermissionsMatchFeatures(t *testing.T) {
	may := func(setting string) map[string]bool {
		all, granted := mustParse(t, reschedulerChart, installed[reschedulerChart].settings[setting]), map[string]bool{}
		for _, rule := range as[rbacv1.ClusterRole](t, all.named(t, "ClusterRole", "-manager")).Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[verb+" "+resource] = true
				}
			}
		}
		return granted
	}
	for right, on := range map[string]string{
		"patch nodes": "features", "create pods": "features", "delete pods": "features",
		"update mutatingwebhookconfigurations": "default", "create tokenreviews": "default", "create subjectaccessreviews": "default",
	} {
		if !may(on)[right] {
			t.Errorf("%s: permission is missing: %s", on, right)
		}
		if may("bare")[right] {
			t.Errorf("permission with all features off: %s", right)
		}
	}
	for _, right := range []string{"patch nodes", "create pods", "delete pods"} {
		if may("default")[right] {
			t.Errorf("permission by default: %s", right)
		}
	}
	if !may("bare")["create pods/eviction"] || !may("bare")["patch pods"] || !may("bare")["get nodes"] {
		t.Error("permissions that are always needed are missing")
	}
}

func TestSchedulerServiceAccount(t *testing.T) {
	all := mustParse(t, reschedulerChart, installed[reschedulerChart].settings["everything"])
	all.named(t, "ServiceAccount", "holdfast-scheduler")
	for _, name := range []string{"holdfast-scheduler", "holdfast-scheduler-as-kube-scheduler", "holdfast-scheduler-as-volume-scheduler"} {
		binding := as[rbacv1.ClusterRoleBinding](t, all.named(t, "ClusterRoleBinding", name))
		if s := binding.Subjects[0]; s.Name != "holdfast-scheduler" || s.Namespace != "holdfast" {
			t.Errorf("%s binds %v", name, s)
		}
	}
}

// The scheduler's pods need their service account, even if its roles are managed elsewhere.
func TestSchedulerAccountWithoutRoles(t *testing.T) {
	all := mustParse(t, reschedulerChart, "scheduler: {enabled: true}\nrbac: {create: false}")
	all.named(t, "ServiceAccount", "holdfast-scheduler")
	if roles := all.find("ClusterRoleBinding"); len(roles) > 0 {
		t.Errorf("the chart binds %s", roles[0].GetName())
	}
}

// In profile mode, the chart does not run a scheduler. It creates the profile, and grants the user of the cluster's own
// scheduler the permission that it lacks.
func TestSchedulerProfileMode(t *testing.T) {
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
		t.Errorf("permissions differ from those of a second scheduler:\n%s", diff)
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

// The plain manifest contains exactly the objects that the values add to the chart's default objects. The default
// objects are in a separate file.
func TestPlainSchedulerManifestIsComplete(t *testing.T) {
	file := filepath.Join(manifests(t), "rescheduler-scheduler.yaml")
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

func TestSchedulerUsesNodeSettingsOfManager(t *testing.T) {
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

// A scheduler must not be newer than the API server. Without the scheduler, the rescheduler also runs with older API
// servers.
func TestSchedulerRequiresKubernetesVersion(t *testing.T) {
	const scheduler = "scheduler: {enabled: true}\n"
	for name, c := range map[string]struct {
		version, values string
		refused         bool
	}{
		"scheduler on its own version":  {"v1.36.0", scheduler, false},
		"scheduler on a newer version":  {"v1.37.2-gke.1", scheduler, false},
		"scheduler on an older version": {"v1.35.4", scheduler, true},
		"rescheduler only":              {"v1.33.13", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			capabilities := plain.Capabilities()
			capabilities.KubeVersion = common.KubeVersion{Version: c.version}
			_, err := renderFor(t, capabilities, reschedulerChart, c.values)
			if refused := err != nil && strings.Contains(err.Error(), "scheduler.enabled: the scheduler is built from Kubernetes 1.36"); refused != c.refused || err != nil && !refused {
				t.Errorf("got %v", err)
			}
		})
	}
}
