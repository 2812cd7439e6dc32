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
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	theirs "sigs.k8s.io/jobset/api/jobset/v1alpha2"

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

// guest is an installation alongside the published controller: the orchestrator with its webhook, and a store. The test simulates
// pods and agents.
type guest struct {
	*cluster
	store *valkey.Store
	group string // UID of its owner; empty for the JobSet
	stop  func() // stops the orchestrator
	start func()
}

func newGuest(t *testing.T) *guest {
	t.Helper()
	c := newCluster(t)
	address := startStore(t)
	k8s, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	c.ok(err)
	_, port, err := net.SplitHostPort(sandbox.FreeAddress(t))
	c.ok(err)
	apiserver.InstallWebhooks(t, k8s, "../../charts/holdfast-inplace/files/webhook/manifests.yaml", "https://localhost:"+port, "holdfast-inplace-webhook-server-cert")
	t.Cleanup(func() { removeWebhook(k8s) })
	t.Setenv("POD_NAMESPACE", "default")
	g := &guest{cluster: c}
	g.store, err = valkey.New(valkey.Options{Address: address})
	c.ok(err)
	t.Cleanup(func() { _ = g.store.Close() })
	folder := g.certify(k8s)
	g.start = func() {
		health := sandbox.FreeAddress(t)
		o, set := orchestrator.NewOptions(), pflag.NewFlagSet("orchestrator", pflag.ContinueOnError)
		o.Flags(set)
		c.ok(set.Parse([]string{
			"--webhooks", "--webhook-port=" + port, "--webhook-cert-dir=" + folder, "--valkey-address=" + address, "--inplace-store-address=" + address, "--inplace-exec-image=exec:1",
			"--leader-election-namespace=default", "--leader-election-lease-duration=3s", "--health-probe-bind-address=" + health,
		}))
		o.Webhook.Host = "localhost"
		c.ok(o.Complete(set))
		o.Registry = prometheus.NewRegistry()
		g.stop = sandbox.Run(t, func(ctx context.Context) error { return o.Run(ctx, config) })
		g.awaitWebhook()
	}
	g.start()
	return g
}

// certify creates a certificate for the webhook, and makes the API server trust it: the program's own rotation can run only once in
// a process.
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

// awaitWebhook waits until the API server calls the webhook, which prepares a Job of a JobSet that requests in-place restarts.
func (g *guest) awaitWebhook() {
	g.Helper()
	probe := MakeJobSet("probe").Workers(1).Suspend(true).Change(commanded).Annotation(v1alpha2.InPlaceTimeoutKey, "60s")
	js, err := g.jobSets.JobsetV1alpha2().JobSets(g.namespace).Create(g.Context(), typed(g.T, probe), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		js, err = g.jobSets.JobsetV1alpha2().JobSets(g.namespace).Get(g.Context(), "probe", metav1.GetOptions{})
	}
	g.ok(err)
	g.eventually(func() string {
		job := MakeJob("probe-workers-0", "workers").Label(v1alpha2.JobSetNameKey, "probe").Obj()
		job.Namespace, job.Annotations = g.namespace, nil
		job.Spec = js.Spec.ReplicatedJobs[0].Template.Spec
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(js, theirs.SchemeGroupVersion.WithKind("JobSet"))}
		prepared, err := g.core.BatchV1().Jobs(g.namespace).Create(g.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err.Error()
		}
		return sandbox.Differs("led-by", guestName, prepared.Annotations[v1alpha2.LedByKey])
	})
	g.ok(g.jobSets.JobsetV1alpha2().JobSets(g.namespace).Delete(g.Context(), "probe", metav1.DeleteOptions{}))
}

func commanded(js *v1alpha2.JobSet) {
	for i := range js.Spec.ReplicatedJobs {
		js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers[0].Command = []string{"train"}
	}
}

// asking returns a JobSet of two Jobs with one pod each.
func asking(restarts int32) *JobSet {
	return MakeJobSet("a").Workers(2).MaxRestarts(restarts).Change(commanded).Annotation(v1alpha2.InPlaceTimeoutKey, "60s")
}

func (g *guest) uid() string {
	if g.group != "" {
		return g.group
	}
	return string(g.jobSet().UID)
}

// makePods acts as the Job controller, and as agents that join.
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

// joinAt joins with a pod that does not carry its generation.
func (g *guest) joinAt(slot string, pod *corev1.Pod, generation int64) {
	g.Helper()
	g.eventually(func() string {
		level, err := g.store.Level(g.Context(), g.uid())
		if err != nil {
			return err.Error()
		}
		if level.Generation != generation {
			return fmt.Sprintf("the group is at %s, the pod of generation %d", level, generation)
		}
		place, err := g.store.Place(g.Context(), g.uid(), rounds.Slot{Name: slot, Pod: string(pod.UID)})
		if err != nil {
			return err.Error()
		}
		m := rounds.Member{Slot: rounds.Slot{Name: slot, Pod: string(pod.UID)}, ID: string(pod.UID) + strconv.FormatInt(level.Round, 10), Attempt: level.Round + 1, Past: rounds.Past{Kind: rounds.PastNew}}
		reply, _, err := g.store.Call(g.Context(), g.uid(), rounds.Join(level.Incarnation, place.Unit, level.Round, level.Entered, m))
		if err != nil {
			return err.Error()
		}
		if answer, err := rounds.ParseAnswer(reply); err != nil || answer.Kind != rounds.AnswerJoined {
			return "the join is answered by " + reply
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
	level, err := g.store.Level(g.Context(), g.uid())
	g.ok(err)
	place, err := g.store.Place(g.Context(), g.uid(), rounds.Slot{Name: slot, Pod: string(pod.UID)})
	g.ok(err)
	d := rounds.Death{
		Slot: rounds.Slot{Name: slot, Pod: string(pod.UID)}, ID: string(pod.UID) + strconv.FormatInt(level.Round, 10), Round: level.Round, Ran: true,
		Cause: rounds.FormatFailure(coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindExit, ExitCode: 1}}),
	}
	_, _, err = g.store.Call(g.Context(), g.uid(), rounds.Down(level.Incarnation, place.Unit, d))
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

// run creates a JobSet of the published controller, and waits until its workers run, led by the guest.
func (g *guest) run(js *JobSet) {
	g.Helper()
	g.create(js)
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.awaitAnnotation(v1alpha2.LedByKey, guestName)
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
}

func TestBesideWorkerDeathsRestartInPlaceUntilTheBudgetIsUsedUp(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(1))
	g.die("a-workers-1-0")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	g.rejoin("a-workers-0-0", "a-workers-1-0")
	g.awaitCondition(inSync + "=True/InSync")
	if got := g.names(); got != "a-workers-0@0 a-workers-1@0" {
		t.Errorf("the Jobs were recreated: %s", got)
	}
	g.die("a-workers-0-0")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "2")
	g.awaitCondition("Failed=True/ReachedMaxRestarts")
	g.awaitJobs("a-workers-0@0- a-workers-1@0-") // by the published controller
	g.eventually(func() string { return sandbox.Differs("terminal state", "Failed", g.jobSet().Status.TerminalState) })
}

func TestBesideRestartThatTimesOutRecreatesAllJobs(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3).Annotation(v1alpha2.InPlaceTimeoutKey, "2s"))
	before := g.jobs()
	g.die("a-workers-1-0") // and none returns
	g.eventually(func() string {
		g.collectAll()
		for _, job := range g.jobs() {
			if slices.ContainsFunc(before, func(old batchv1.Job) bool { return old.UID == job.UID }) || job.Annotations[epoch.Annotation] != "2" {
				return fmt.Sprintf("%s is the one before, or of epoch %q", job.Name, job.Annotations[epoch.Annotation])
			}
		}
		return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", g.names())
	})
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "2") // the restart, and the recreation
	if n := g.jobSet().Status.Restarts; n != 0 {
		t.Errorf("the published controller counts %d restarts", n)
	}
}

func TestBesideRecreationByThePublishedControllerIsFollowed(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3))
	g.fail("a-workers-0")
	g.eventually(func() string {
		g.collectAll()
		return sandbox.Differs("jobs", "a-workers-0@1 a-workers-1@1", g.names())
	})
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
}

func TestBesideSuspendedJobSetIsResumedInTheNextEpoch(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(3))
	g.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(true) })
	g.awaitJobs("a-workers-0@0z a-workers-1@0z")
	g.removePods("")
	g.awaitCondition(inSync + "=False/Suspended")
	g.eventually(func() string {
		for _, job := range g.jobs() {
			if got := job.Spec.Template.Annotations[epoch.Annotation]; got != "2" {
				return fmt.Sprintf("the pods of %s would be of epoch %q", job.Name, got)
			}
		}
		return ""
	})
	g.change(func(js *theirs.JobSet) { js.Spec.Suspend = ptr.To(false) })
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.makePods("a-workers-0", "a-workers-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "0")
}

func TestBesideGroupThatTheWebhookMissedIsReported(t *testing.T) {
	g := newGuest(t)
	stopTheirs := runTheirs(t)
	g.stop() // along with its webhook, which fails open
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	stopTheirs()
	g.start()
	g.awaitCondition(inSync + "=False/NotPossible")
	g.ok(g.core.BatchV1().Jobs(g.namespace).Delete(g.Context(), "a-workers-1", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	runTheirs(t)
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	for _, job := range g.jobs() {
		if by := job.Annotations[v1alpha2.LedByKey]; by != "" {
			t.Errorf("%s of a group without agents is prepared by %s", job.Name, by)
		}
	}
	if by := g.jobSet().Annotations[v1alpha2.LedByKey]; by != "" {
		t.Errorf("it is claimed by %s", by)
	}
}

func TestBesidePartlyPreparedGroupRunsWithoutAgents(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	g.awaitAnnotation(v1alpha2.LedByKey, guestName)
	// One Job as if the webhook had missed it.
	job, err := g.core.BatchV1().Jobs(g.namespace).Get(g.Context(), "a-workers-1", metav1.GetOptions{})
	g.ok(err)
	delete(job.Annotations, v1alpha2.LedByKey)
	_, err = g.core.BatchV1().Jobs(g.namespace).Update(g.Context(), job, metav1.UpdateOptions{})
	g.ok(err)
	g.ok(g.core.BatchV1().Jobs(g.namespace).Delete(g.Context(), "a-workers-0", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	g.eventually(func() string {
		g.collectAll()
		for _, job := range g.jobs() {
			if job.Annotations[v1alpha2.LedByKey] != "" {
				return job.Name + " is prepared"
			}
		}
		return sandbox.Differs("jobs", "a-workers-0@0 a-workers-1@0", g.names())
	})
	g.awaitCondition(inSync + "=False/NotPossible")
}

func TestNothingIsPreparedBesideOurOwnController(t *testing.T) {
	g := newGuest(t)
	runOurs(t, "--inplace-store-address=other:6379", "--inplace-exec-image=exec:2")
	g.create(asking(1))
	g.awaitJobs("a-workers-0@0 a-workers-1@0")
	for _, job := range g.jobs() {
		images := job.Spec.Template.Spec.InitContainers
		if len(images) != 1 || images[0].Image != "exec:2" || job.Annotations[v1alpha2.LedByKey] != "" {
			t.Errorf("%s: %+v", job.Name, job.Annotations)
		}
	}
	time.Sleep(2 * time.Second)
	js := g.jobSet()
	if js.Annotations[v1alpha2.LedByKey] != "" || meta.FindStatusCondition(js.Status.Conditions, inSync) != nil {
		t.Errorf("the guest leads it: %v %v", js.Annotations, js.Status.Conditions)
	}
}

func TestBesideRefusalsAreOneCondition(t *testing.T) {
	for name, js := range map[string]*JobSet{
		"a bad annotation": asking(1).Annotation(v1alpha2.InPlaceTimeoutKey, "soon"),
		"only on the pod template": MakeJobSet("a").Workers(2).Change(commanded).Change(func(js *v1alpha2.JobSet) {
			js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"}
		}),
		"the command of the image":       MakeJobSet("a").Workers(2).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"),
		"restartStrategy InPlaceRestart": asking(1).Strategy(v1alpha2.InPlaceRestart),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			runTheirs(t)
			g.create(js)
			g.awaitCondition(inSync + "=False/NotPossible")
			for _, job := range g.jobs() {
				if job.Annotations[v1alpha2.LedByKey] != "" || len(job.Spec.Template.Spec.InitContainers) > 0 {
					t.Errorf("%s is prepared", job.Name)
				}
			}
			g.change(func(js *theirs.JobSet) {
				delete(js.Annotations, v1alpha2.InPlaceTimeoutKey)
				js.Spec.ReplicatedJobs[0].Template.Spec.Template.Annotations = nil
			})
			g.eventually(func() string { // it no longer asks for anything
				return sandbox.Differs("condition", inSync+" is absent", sandbox.ConditionOf(g.jobSet().Status.Conditions, inSync))
			})
		})
	}
}

func TestBesideCopyStartsFromZero(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	g.run(asking(2).Annotation(v1alpha2.WrittenForKey, "another").Annotation(v1alpha2.LedByKey, guestName).
		Annotation(v1alpha2.InPlaceRestartsKey, "2").Annotation(epoch.Annotation, `{"epoch":7,"base":2,"recreate":0}`))
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "0")
}
