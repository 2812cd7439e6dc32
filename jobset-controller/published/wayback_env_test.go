//go:build envtest

package published

import (
	"context"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/app"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// installation is one of the two JobSet controllers, with its definition and webhooks.
type installation struct {
	definition, webhooks string // names of manifest files
	address              string // address of its webhooks
	flags                []string
	run                  func(*site, *installation) (stop func())
}

// site is an API server on which one installation replaces the other.
type site struct {
	*testing.T
	client.Client
	config       *rest.Config
	certificates string // folder
	authority    []byte
}

func newSite(t *testing.T) *site {
	t.Helper()
	config, k8s := apiserver.ForTest(t, app.NewScheme())
	s := &site{T: t, Client: k8s, config: config, certificates: t.TempDir()}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(s.certificates, "tls.crt"), certificate, 0o600))
	must(t, os.WriteFile(filepath.Join(s.certificates, "tls.key"), key, 0o600))
	s.authority = certificate
	return s
}

// take replaces the existing definition and webhooks, and runs the controller.
func (s *site) take(i *installation) (stop func()) {
	s.Helper()
	for _, object := range append(documents(s.T, i.definition), documents(s.T, i.webhooks)...) {
		if hooks, found, _ := unstructured.NestedSlice(object.Object, "webhooks"); found {
			object.SetName("jobset-" + strings.TrimPrefix(object.GetName(), "jobset-")) // the upstream manifests get the prefix later
			for _, hook := range hooks {
				path, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
				hook.(map[string]any)["clientConfig"] = map[string]any{
					"url": "https://" + i.address + path, "caBundle": base64.StdEncoding.EncodeToString(s.authority),
				}
			}
			must(s.T, unstructured.SetNestedSlice(object.Object, hooks, "webhooks"))
		}
		must(s.T, s.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kubectl"), client.ForceOwnership))
	}
	return i.run(s, i)
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(strings.TrimPrefix(string(content), "---"), "\n---\n") { // field descriptions contain the marker as well
		object := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), &object.Object))
		if len(object.Object) > 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
			objects = append(objects, object)
		}
	}
	return objects
}

func (s *site) published() *installation {
	s.Helper()
	module, err := exec.CommandContext(s.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset").Output()
	must(s.T, err)
	components := filepath.Join(strings.TrimSpace(string(module)), "config", "components")
	return &installation{
		definition: filepath.Join(components, "crd", "bases", definition), webhooks: filepath.Join(components, "webhook", "manifests.yaml"),
		address: localhost(s.T), run: (*site).runTheirs,
	}
}

func (s *site) ours(flags ...string) *installation {
	s.Helper()
	return &installation{
		definition: filepath.Join("..", "..", "charts", "jobset-controller", "files", "crds", definition), webhooks: filepath.Join("..", "..", "charts", "jobset-controller", "files", "webhook", "manifests.yaml"),
		address: localhost(s.T), run: (*site).runOurs, flags: flags,
	}
}

func localhost(t *testing.T) string {
	t.Helper()
	_, port, err := net.SplitHostPort(sandbox.FreeAddress(t))
	must(t, err)
	return net.JoinHostPort("localhost", port)
}

func (s *site) runTheirs(i *installation) (stop func()) {
	scheme := newTheirScheme(s.T)
	host, text, err := net.SplitHostPort(i.address)
	must(s.T, err)
	port, err := strconv.Atoi(text)
	must(s.T, err)
	mgr, err := ctrl.NewManager(s.config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		WebhookServer: webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: s.certificates}),
	})
	must(s.T, err)
	must(s.T, controllers.SetupJobSetIndexes(s.Context(), mgr.GetFieldIndexer()))
	must(s.T, controllers.NewJobSetReconciler(mgr.GetClient(), scheme, mgr.GetEventRecorder("jobset")).SetupWithManager(mgr))
	must(s.T, webhooks.Setup(mgr))
	return sandbox.Run(s.T, mgr.Start)
}

func (s *site) runOurs(i *installation) (stop func()) {
	host, port, err := net.SplitHostPort(i.address)
	must(s.T, err)
	file := filepath.Join(s.TempDir(), "config.yaml")
	must(s.T, os.WriteFile(file, []byte("apiVersion: config.jobset.x-k8s.io/v1alpha1\nkind: Configuration\nleaderElection: {leaderElect: false}\n"+
		"internalCertManagement: {enable: false}\nwebhook: {host: "+host+", port: "+port+", certDir: "+s.certificates+"}\n"), 0o600))
	o, set := app.NewOptions(), pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.Flags(set)
	must(s.T, set.Parse(append([]string{"--config=" + file, "--metrics-bind-address=0", "--health-probe-bind-address=0"}, i.flags...)))
	must(s.T, o.Complete(set))
	o.Registry = prometheus.NewRegistry()
	return sandbox.Run(s.T, func(ctx context.Context) error { return o.Run(ctx, s.config) })
}

// submit creates a JobSet without defaults, as a user would write it, as soon as the webhooks respond.
func (s *site) submit(js *JobSet) {
	s.Helper()
	object := js.Namespace("default").Obj()
	sandbox.Eventually(s.T, func() string {
		if err := s.Create(s.Context(), object.DeepCopy()); err != nil {
			return err.Error()
		}
		return ""
	})
}

// awaitJob waits for a Job with its attempt, such as "a-workers-0@1".
func (s *site) awaitJob(want string) {
	s.Helper()
	name, attempt, _ := strings.Cut(want, "@")
	sandbox.Eventually(s.T, func() string {
		var job batchv1.Job
		if err := s.Get(s.Context(), client.ObjectKey{Namespace: "default", Name: name}, &job); err != nil {
			return err.Error()
		}
		return sandbox.Differs("attempt of "+name, attempt, job.Labels[v1alpha2.RestartsKey])
	})
}

// play writes the status of a Job, as the Job controller does.
func (s *site) play(name string, change func(*batchv1.JobStatus)) {
	s.Helper()
	var job batchv1.Job
	must(s.T, s.Get(s.Context(), client.ObjectKey{Namespace: "default", Name: name}, &job))
	job.Status.StartTime = ptr.To(metav1.Now())
	change(&job.Status)
	must(s.T, s.Status().Update(s.Context(), &job))
}

// collect waits until a Job is being deleted, and removes it.
func (s *site) collect(name string) {
	s.Helper()
	sandbox.Eventually(s.T, func() string {
		var job batchv1.Job
		must(s.T, s.Get(s.Context(), client.ObjectKey{Namespace: "default", Name: name}, &job))
		if job.DeletionTimestamp.IsZero() {
			return name + " is not being deleted"
		}
		job.Finalizers = nil
		must(s.T, s.Update(s.Context(), &job))
		return ""
	})
}

// panics returns how often the controllers in this process have panicked.
func panics(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	must(t, err)
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_panics_total" {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// The test switches from the upstream controller to ours and back, each with its own webhooks and definition. The
// upstream controller assumes that a webhook has set the defaults of a JobSet, and panics otherwise.
func TestSwitchToOursAndBack(t *testing.T) {
	s := newSite(t)
	published, ours := s.published(), s.ours()
	before := panics(t)

	stop := s.take(published)
	s.submit(MakeJobSet("first").Workers(1).MaxRestarts(3))
	s.awaitJob("first-workers-0@0")
	stop()

	stop = s.take(ours)
	s.play("first-workers-0", sandbox.JobFailed)
	s.collect("first-workers-0")
	s.awaitJob("first-workers-0@1")
	s.submit(MakeJobSet("second").Entry("fetch", 1).Workers(1).WaitFor(v1alpha2.WaitForSucceeded, "fetch").MaxRestarts(3).
		Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSet, MaxRestarts: ptr.To[int32](1)}))
	s.awaitJob("second-fetch-0@0")
	stop()

	// helm uninstall keeps the definition and the webhook configurations; see TestUninstallKeepsCRDAndWebhooks in the
	// charts.
	bare := MakeJobSet("third").Workers(1).Namespace("default").Obj()
	if err := s.Create(t.Context(), bare.DeepCopy()); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Fatalf("a JobSet was created without its defaults: %v", err)
	}

	s.take(published)
	s.submit(MakeJobSet("third").Workers(1))
	s.awaitJob("third-workers-0@0")
	s.play("first-workers-0", sandbox.JobFailed)
	s.collect("first-workers-0")
	s.awaitJob("first-workers-0@2")
	s.play("second-fetch-0", sandbox.JobReady(1)) // the rule has been lost, so all gates wait for Ready
	s.awaitJob("second-workers-0@0")
	second := &unstructured.Unstructured{}
	second.SetGroupVersionKind(theirs.SchemeGroupVersion.WithKind("JobSet"))
	must(t, s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "second"}, second))
	if rules, found, _ := unstructured.NestedSlice(second.Object, "spec", "startupPolicy", "rules"); found {
		t.Errorf("the published definition keeps %v", rules)
	}
	if text := second.GetAnnotations()[v1alpha2.CarriedSpecKey]; !strings.Contains(text, "fetch") {
		t.Errorf("the annotation of the rules is %q", text)
	}
	if now := panics(t); now != before {
		t.Errorf("%.0f panics", now-before)
	}
}
