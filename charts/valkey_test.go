package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestStoreHasEnoughConnections(t *testing.T) {
	for agents, want := range map[int]string{1: "102", 500: "1100", 10000: "20100", 1000000: "2000100"} {
		all := mustParse(t, jobSetChart, fmt.Sprintf(`{orchestrator: {enabled: true}, valkey: {enabled: true, agents: %d}}`, agents))
		if got := setting(t, all, "--maxclients"); got != want {
			t.Errorf("%d agents: maxclients is %s, want %s", agents, got, want)
		}
	}
}

func TestStoreIsPersistent(t *testing.T) {
	all := mustParse(t, jobSetChart, settings["orchestrator and valkey"])
	for key, want := range map[string]string{"--appendonly": "yes", "--appendfsync": "everysec", "--maxmemory-policy": "noeviction"} {
		if got := setting(t, all, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

func setting(t *testing.T, all objects, key string) string {
	t.Helper()
	args := all.container(t, "valkey").Args
	at := slices.Index(args, key)
	if at < 0 || at+1 == len(args) {
		t.Fatalf("the store does not get %s: %q", key, args)
	}
	return args[at+1]
}

// The orchestrator connects to the store's Service, which selects the store's pod and not the manager's.
func TestStoreAddress(t *testing.T) {
	for name, want := range map[string]string{"orchestrator and valkey": "valkey.holdfast.svc:6379", "everything": "store.holdfast.svc:6400"} {
		t.Run(name, func(t *testing.T) {
			all := mustParse(t, jobSetChart, settings[name])
			if args := all.container(t, "orchestrator").Args; !slices.Contains(args, "--valkey-address="+want) {
				t.Errorf("the orchestrator does not get %s: %q", want, args)
			}
			service := as[corev1.Service](t, all.named(t, "Service", strings.Split(want, ".")[0]))
			if service.Spec.ClusterIP != corev1.ClusterIPNone {
				t.Errorf("the Service has cluster IP %q, want it headless", service.Spec.ClusterIP)
			}
			if got := fmt.Sprint(service.Spec.Ports[0].Port); !strings.HasSuffix(want, ":"+got) {
				t.Errorf("the Service has port %s", got)
			}
			set := as[appsv1.StatefulSet](t, all.find("StatefulSet")[0])
			if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement { // the default never replaces a pod that is not ready
				t.Errorf("the pod management policy is %q", set.Spec.PodManagementPolicy)
			}
			if set.Spec.ServiceName != service.Name {
				t.Errorf("the StatefulSet is of Service %s", set.Spec.ServiceName)
			}
			selector := labels.SelectorFromSet(service.Spec.Selector)
			for pod, template := range all.podTemplates(t) {
				if got, want := selector.Matches(labels.Set(template.Labels)), pod == set.Name; got != want {
					t.Errorf("the Service selects pod %s: %v, want %v", pod, got, want)
				}
			}
		})
	}
}

// An upgrade that does not affect the store must not replace its pod, which holds the data.
func TestOnlyStoreValuesChangeStorePod(t *testing.T) {
	const on = "orchestrator: {enabled: true, logLevel: debug}\nvalkey: {enabled: true, agents: %d}\n"
	pod := func(values string) corev1.PodTemplateSpec {
		set := mustParse(t, jobSetChart, values).find("StatefulSet")[0]
		return as[appsv1.StatefulSet](t, set).Spec.Template
	}
	before := pod(fmt.Sprintf(on, 100))
	other := "logLevel: debug\nreplicaCount: 2\ncommonLabels: {a: b}\npodLabels: {c: d}\npodAnnotations: {e: f}\n"
	if diff := cmp.Diff(before, pod(other+fmt.Sprintf(on, 100))); diff != "" {
		t.Errorf("values of the manager change the store's pod (-before +after):\n%s", diff)
	}
	if cmp.Equal(before, pod(fmt.Sprintf(on, 200))) {
		t.Error("values of the store do not change its pod")
	}
}

func TestSelectorsMatchTheirPods(t *testing.T) {
	for name, values := range settings {
		all := mustParse(t, jobSetChart, values)
		pods := all.podTemplates(t)
		for _, obj := range all.find("Deployment") {
			d := as[appsv1.Deployment](t, obj)
			for pod, template := range pods {
				matches := labels.SelectorFromSet(d.Spec.Selector.MatchLabels).Matches(labels.Set(template.Labels))
				if matches != (pod == d.Name) {
					t.Errorf("%s: the selector of %s matches pod %s: %v", name, d.Name, pod, matches)
				}
			}
		}
	}
}
