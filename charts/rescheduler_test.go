package charts

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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
	want := mustRead(t, filepath.Join("..", "rescheduler", "scheduler", "config", "second-scheduler.yaml"))
	if diff := cmp.Diff(string(want), string(mustRead(t, filepath.Join(reschedulerChart, "files", "scheduler", "config.yaml")))); diff != "" {
		t.Errorf("not the file of the scheduler (make generate):\n%s", diff)
	}
}
