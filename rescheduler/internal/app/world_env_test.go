//go:build envtest

package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	controlplane "github.com/holdfast-project/holdfast/rescheduler/internal/testing/cluster"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

var (
	cluster *controlplane.Cluster
	// restricted has only the manager's permissions.
	restricted *rest.Config
)

const manager = "mover"

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	var err error
	if cluster, err = controlplane.Start("testdata/crds"); err == nil {
		err = cluster.RunControllers()
	}
	if err == nil {
		if restricted, err = cluster.User(manager); err == nil {
			err = giveRights()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
	}
	os.Exit(code)
}

// giveRights grants the permissions of the generated role, and permissions for owners of a kind that only this test defines.
func giveRights() error {
	c, err := client.New(cluster.Config, client.Options{Scheme: bootstrap.NewScheme()})
	if err != nil {
		return err
	}
	content, err := os.ReadFile("../../../charts/rescheduler/files/rbac/manager.yaml")
	if err != nil {
		return err
	}
	var role rbacv1.ClusterRole
	first, _, _ := strings.Cut(strings.TrimPrefix(string(content), "---\n"), "---\n")
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		return err
	}
	gadgets := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"gadgets"}, Verbs: []string{"get", "list", "watch", "patch"}}
	// A permission that the chart's rbac.ownerKinds can grant. With it, the tests show that pods of DaemonSets are not ignored
	// merely for lack of permission.
	daemons := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, Verbs: []string{"get", "list", "watch", "patch"}}
	role.Rules = append(role.Rules, gadgets, daemons)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: manager}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: manager}},
	}
	return errors.Join(c.Create(context.Background(), &role), c.Create(context.Background(), binding))
}

// world is a namespace with the whole manager, a scheduler that binds each pod to the first allowed node, and kubelets. The real
// workload controllers run alongside it.
type world struct {
	*testing.T
	client.Client
	namespace string
	bad, good string // nodes, in the order of the scheduler's preference
	plugin    bool   // the scheduler reads the annotation of pods
	dryRun    bool   // the manager writes nothing

	mu sync.Mutex
	// kubelet returns the status of a bound pod. If it is nil or returns nil, the pod runs.
	kubelet func(pod *corev1.Pod) *corev1.PodStatus
	bound   map[string][]string // names of pods by node, in order
	done    map[string]bool
	full    string
}

func newWorld(t *testing.T, changes ...func(*settings.Rescheduling)) *world {
	t.Helper()
	t.Parallel()
	c, err := client.New(cluster.Config, client.Options{Scheme: bootstrap.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: c, bound: map[string][]string{}, done: map[string]bool{}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "world-"}}
	w.ok(w.Create(t.Context(), ns))
	w.namespace = ns.Name
	w.bad, w.good = w.node("bad"), w.node("good")
	w.kubelet = func(*corev1.Pod) *corev1.PodStatus { return nil }
	w.ok(w.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: w.namespace}}))
	w.start(changes...)
	w.goOn(w.scheduleAll)
	w.goOn(w.kubeletAll)
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// node creates a node that only the pods of this world can use.
func (w *world) node(name string) string {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-" + name, Labels: map[string]string{"world": w.namespace}}}
	w.ok(w.Create(w.Context(), node))
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.ok(w.Status().Update(w.Context(), node))
	// The API server taints new nodes, and no controller that would remove the taint is running here.
	w.ok(w.Get(w.Context(), client.ObjectKeyFromObject(node), node))
	node.Spec.Taints = nil
	w.ok(w.Update(w.Context(), node))
	w.Cleanup(func() { _ = w.Delete(context.Background(), node) })
	return node.Name
}

// start starts the whole manager with its webhook.
func (w *world) start(changes ...func(*settings.Rescheduling)) {
	w.Helper()
	local := envtest.WebhookInstallOptions{}
	w.ok(local.PrepWithoutInstalling())
	w.Cleanup(func() { _ = local.Cleanup() })
	o := NewOptions()
	o.Registry, o.Webhooks, o.Certificates.Internal = prometheus.NewRegistry(), true, false
	o.Metrics.Address, o.Health.Address = "0", "0"
	o.Webhook.Host, o.Webhook.Port, o.Webhook.CertDir = local.LocalServingHost, local.LocalServingPort, local.LocalServingCertDir
	o.Rescheduling.Namespaces = []string{w.namespace}
	for _, change := range changes {
		change(&o.Rescheduling)
	}
	w.ok(o.Rescheduling.Validate())
	w.dryRun = o.Rescheduling.DryRun
	address := net.JoinHostPort(local.LocalServingHost, fmt.Sprint(local.LocalServingPort))
	w.install(w.delayed(address, local.LocalServingCAData))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx, restricted) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	})
	w.eventually("the webhook is not served", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// delayed returns the URL and the CA of a proxy that delays each request to the webhook. The API server reports a failed pod to the workload
// controllers and to the manager at the same time, and any of them can be first. With the delay, the manager is first.
func (w *world) delayed(address string, ca []byte) (string, []byte) {
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(ca)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: address})
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		time.Sleep(200 * time.Millisecond)
		proxy.ServeHTTP(response, request)
	}))
	w.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// install installs the webhook for this world, as the chart does.
func (w *world) install(server string, ca []byte) {
	content, err := os.ReadFile("../../../charts/rescheduler/files/webhook/manifests.yaml")
	w.ok(err)
	var configuration admissionv1.MutatingWebhookConfiguration
	w.ok(yaml.UnmarshalStrict([]byte(strings.TrimPrefix(string(content), "---\n")), &configuration))
	configuration.Name = w.namespace
	hook := &configuration.Webhooks[0]
	hook.ClientConfig = admissionv1.WebhookClientConfig{URL: ptr.To(server + *hook.ClientConfig.Service.Path), CABundle: ca}
	hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{
		"holdfast.dev/rescheduling": "enabled", "kubernetes.io/metadata.name": w.namespace,
	}}
	w.ok(w.Create(w.Context(), &configuration))
	w.Cleanup(func() { _ = w.Delete(context.Background(), &configuration) })
}

// rejects returns the status of a pod that its kubelet has rejected.
func rejects(reason string) *corev1.PodStatus {
	return &corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: "Pod was rejected: no"}
}

// outOfMemory returns the status of a pod whose container is OOM-killed repeatedly.
func outOfMemory() *corev1.PodStatus {
	return &corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "c", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: metav1.Now()}},
	}}}
}

// onBad sets what the bad node does to pods.
func (w *world) onBad(status func() *corev1.PodStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kubelet = func(pod *corev1.Pod) *corev1.PodStatus {
		if pod.Spec.NodeName == w.bad {
			return status()
		}
		return nil
	}
}

func (w *world) boundTo(node string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.bound[node])
}

// events returns the events with a reason.
func (w *world) events(reason string) []string {
	var list eventsv1.EventList
	w.ok(w.List(w.Context(), &list, client.InNamespace(w.namespace)))
	var notes []string
	for _, e := range list.Items {
		if e.Reason == reason {
			notes = append(notes, e.Regarding.Kind+" "+e.Note)
		}
	}
	return notes
}

const patience = 60 * time.Second

// eventually waits until the condition holds.
func (w *world) eventually(complaint string, check func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !check(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("after %s: %s\n%s", patience, complaint, w.state())
		}
	}
}

// state describes the world, for the message of a failure.
func (w *world) state() string {
	var lines []string
	for _, pod := range w.pods(context.Background()) {
		lines = append(lines, fmt.Sprintf("pod %s on %s: %s %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Reason, pod.Annotations[memory.HostsAnnotation]))
	}
	var list eventsv1.EventList
	_ = w.List(context.Background(), &list, client.InNamespace(w.namespace))
	for _, e := range list.Items {
		lines = append(lines, fmt.Sprintf("event %s %s/%s: %s", e.Reason, e.Regarding.Kind, e.Regarding.Name, e.Note))
	}
	return strings.Join(lines, "\n")
}

// template returns a pod template for this world.
func (w *world) template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "w"}, Annotations: map[string]string{"theirs": "kept"}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"world": w.namespace},
			Containers:   []corev1.Container{{Name: "c", Image: "i"}},
		},
	}
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: w.namespace, Annotations: map[string]string{memory.RetriesAnnotation: "3"}}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}

// runningOnGood reports whether a number of pods run on the good node.
func (w *world) runningOnGood(n int) func() bool {
	return func() bool {
		running := 0
		for _, pod := range w.pods(w.Context()) {
			if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName == w.good && pod.DeletionTimestamp == nil && len(pod.Status.ContainerStatuses) == 0 {
				running++
			}
		}
		return running == n
	}
}
