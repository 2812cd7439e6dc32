//go:build envtest

package published

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	orchestrator "github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/app"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const (
	guestName = "default/holdfast-inplace"
	inSync    = "InPlaceInSync"
)

// guest is an installation alongside the upstream controller: the orchestrator with its webhook, and a store. The test
// simulates pods and agents.
type guest struct {
	*cluster
	name  string // name of the installation
	store *valkey.Store
	group string // UID of the group's owner; empty if that is the JobSet
	stop  func() // stops the orchestrator
	start func()
	// upgrade starts another orchestrator, points the webhook to it, and then stops the previous one, as a rolling
	// update does.
	upgrade func()
}

func newGuest(t *testing.T) *guest {
	t.Helper()
	return newGuestIn(newCluster(t), "default")
}

// newGuestIn installs the orchestrator in a namespace of the cluster. Its webhook replaces the webhook of an earlier
// installation.
func newGuestIn(c *cluster, system string) *guest {
	c.Helper()
	t := c.T
	address := startStore(t)
	k8s, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	c.ok(err)
	t.Cleanup(func() { removeWebhook(k8s) })
	t.Setenv("POD_NAMESPACE", "default")
	g := &guest{cluster: c, name: system + "/holdfast-inplace"}
	g.store, err = valkey.New(valkey.Options{Address: address})
	c.ok(err)
	t.Cleanup(func() { _ = g.store.Close() })
	image := "exec:1"
	port, folder := g.serve(k8s)
	g.start = func() {
		health := sandbox.FreeAddress(t)
		o, set := orchestrator.NewOptions(), pflag.NewFlagSet("orchestrator", pflag.ContinueOnError)
		o.Flags(set)
		c.ok(set.Parse([]string{
			"--webhooks", "--webhook-port=" + port, "--webhook-cert-dir=" + folder, "--valkey-address=" + address, "--inplace-store-address=" + address, "--inplace-exec-image=" + image,
			"--leader-election-namespace=" + system, "--metrics-bind-address=0", "--health-probe-bind-address=" + health,
		}))
		o.Webhook.Host = "localhost"
		c.ok(o.Complete(set))
		o.Registry = prometheus.NewRegistry()
		g.stop = sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, config) })
		g.awaitWebhook()
	}
	g.start()
	g.upgrade = func() {
		previous := g.stop
		image = "exec:2"
		port, folder = g.serve(k8s)
		g.start()
		previous()
	}
	return g
}

// serve points the webhook to a free port, and returns the port and the folder of its certificate.
func (g *guest) serve(k8s client.Client) (port, folder string) {
	g.Helper()
	_, port, err := net.SplitHostPort(sandbox.FreeAddress(g.T))
	g.ok(err)
	removeWebhook(k8s)
	apiserver.InstallWebhooks(g.T, k8s, "../../charts/holdfast-inplace/files/webhook/manifests.yaml", "https://localhost:"+port, "holdfast-inplace-webhook-server-cert")
	return port, g.certify(k8s)
}

// certify creates a certificate for the webhook, and makes the API server trust it, because the program's certificate
// rotation can run only once per process.
func (g *guest) certify(k8s client.Client) (folder string) {
	g.Helper()
	folder = g.TempDir()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	g.ok(err)
	g.ok(os.WriteFile(filepath.Join(folder, "tls.crt"), certificate, 0o600))
	g.ok(os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600))
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	g.ok(k8s.Get(g.Context(), types.NamespacedName{Name: "holdfast-inplace"}, configuration))
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].ClientConfig.CABundle = certificate
	}
	g.ok(k8s.Update(g.Context(), configuration))
	return folder
}

func removeWebhook(k8s client.Client) {
	ctx := context.Background()
	_ = k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "holdfast-inplace-webhook-server-cert"}})
	configuration := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "holdfast-inplace"}}
	configuration.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"))
	_ = k8s.Delete(ctx, configuration)
}

func startStore(t *testing.T) (address string) {
	t.Helper()
	address = sandbox.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return address
}

// awaitWebhook waits until the API server calls the webhook, which prepares a Job that requests in-place restarts.
func (g *guest) awaitWebhook() {
	g.Helper()
	g.eventually(func() string {
		job := alone("60s")
		job.Name, job.GenerateName = "", "probe-"
		prepared, err := g.core.BatchV1().Jobs(g.namespace).Create(g.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err.Error()
		}
		return sandbox.Differs("led-by", g.name, prepared.Annotations[v1alpha2.LedByKey])
	})
}

func commanded(js *v1alpha2.JobSet) {
	for i := range js.Spec.ReplicatedJobs {
		js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers[0].Command = []string{"train"}
	}
}

// asking returns a JobSet with two Jobs of one pod each.
func asking(restarts int32) *JobSet {
	return MakeJobSet("a").Workers(2).MaxRestarts(restarts).Change(commanded).Annotation(v1alpha2.InPlaceTimeoutKey, "60s")
}

func (g *guest) uid() string {
	if g.group != "" {
		return g.group
	}
	return string(g.jobSet().UID)
}

// makePods acts as the Job controller and as agents that join.
func (g *guest) makePods(names ...string) {
	g.Helper()
	for _, job := range g.jobs() {
		for index := range ptr.Deref(job.Spec.Completions, 1) {
			if slices.Contains(names, job.Name) {
				g.makePod(&job, strconv.Itoa(int(index)))
			}
		}
	}
}

func (g *guest) makePod(job *batchv1.Job, index string) {
	g.Helper()
	slot := job.Name + "-" + index
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: slot + "-", Namespace: g.namespace, Labels: job.Spec.Template.Labels, Annotations: job.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: job.Spec.Template.Spec,
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, index)
	made, err := g.core.CoreV1().Pods(g.namespace).Create(g.Context(), pod, metav1.CreateOptions{})
	g.ok(err)
	g.join(slot, made)
}

// join waits until the store has the pod's generation, and joins the open round.
func (g *guest) join(slot string, pod *corev1.Pod) {
	g.Helper()
	g.joinAt(slot, pod, int64(epoch.OfJob(pod.Annotations)))
}

// joinAt joins with a pod that does not have its generation in an annotation.
func (g *guest) joinAt(slot string, pod *corev1.Pod, generation int64) {
	g.Helper()
	g.eventually(func() string {
		o := g.store.Observe(g.Context(), g.uid(), rounds.Slot{Name: slot, Pod: string(pod.UID)})
		if o.Err != nil {
			return o.Err.Error()
		}
		level, place := o.Level, o.Place
		if level.Generation != generation {
			return fmt.Sprintf("the group is at %s, the pod of generation %d", level, generation)
		}
		m := rounds.Member{Slot: rounds.Slot{Name: slot, Pod: string(pod.UID)}, ID: string(pod.UID) + strconv.FormatInt(level.Round, 10), Attempt: level.Round + 1, Past: rounds.Past{Kind: rounds.PastNew}}
		reply, _, err := g.store.Call(g.Context(), g.uid(), rounds.Join(level.Incarnation, place.Unit, level.Round, level.Entered, m))
		if err != nil {
			return err.Error()
		}
		if answer, err := rounds.ParseAnswer(reply); err != nil || answer.Kind != rounds.AnswerJoined {
			return "the join returned " + reply
		}
		return ""
	})
}

func (g *guest) podOf(slot string) *corev1.Pod {
	g.Helper()
	list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{})
	g.ok(err)
	for i := range list.Items {
		if pod := &list.Items[i]; strings.HasPrefix(pod.Name, slot+"-") && pod.DeletionTimestamp.IsZero() {
			return pod
		}
	}
	g.Fatalf("%s has no pod", slot)
	return nil
}

// die reports the death of a worker, as its agent does.
func (g *guest) die(slot string) {
	g.Helper()
	g.dieAt(slot, g.podOf(slot))
}

func (g *guest) dieAt(slot string, pod *corev1.Pod) {
	g.Helper()
	o := g.store.Observe(g.Context(), g.uid(), rounds.Slot{Name: slot, Pod: string(pod.UID)})
	g.ok(o.Err)
	level, place := o.Level, o.Place
	d := rounds.Death{
		Slot: rounds.Slot{Name: slot, Pod: string(pod.UID)}, ID: string(pod.UID) + strconv.FormatInt(level.Round, 10), Round: level.Round, Ran: true,
		Cause: rounds.FormatFailure(coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindExit, ExitCode: 1}}),
	}
	_, _, err := g.store.Call(g.Context(), g.uid(), rounds.Down(level.Incarnation, place.Unit, d))
	g.ok(err)
}

// rejoin makes workers join the open round.
func (g *guest) rejoin(slots ...string) {
	g.Helper()
	for _, slot := range slots {
		g.join(slot, g.podOf(slot))
	}
}

func (g *guest) awaitAnnotation(key, want string) {
	g.Helper()
	g.eventually(func() string { return sandbox.Differs(key, want, g.jobSet().Annotations[key]) })
}

// collectAll acts as the garbage collector: it removes terminating pods and Jobs.
func (g *guest) collectAll() {
	g.Helper()
	for _, job := range g.jobs() {
		if job.DeletionTimestamp.IsZero() {
			continue
		}
		g.removePods(job.UID)
		g.collect(job.Name)
	}
}

func (g *guest) removePods(of types.UID) {
	g.Helper()
	list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{})
	g.ok(err)
	for _, pod := range list.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && (of == "" || owner.UID == of) {
			g.ok(client.IgnoreNotFound(g.core.CoreV1().Pods(g.namespace).Delete(g.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})))
		}
	}
}

// run creates a JobSet for the upstream controller, and waits until its workers are running and the guest leads the
// group.
func (g *guest) run(js *JobSet) {
	g.Helper()
	g.create(js)
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.awaitAnnotation(v1alpha2.LedByKey, guestName)
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
}
