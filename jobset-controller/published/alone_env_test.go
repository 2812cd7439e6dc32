//go:build envtest

package published

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// runJobController runs the real Job controller until the test ends.
func runJobController(t *testing.T) {
	t.Helper()
	runControllers(t, "job-controller")
}

// runControllers runs some of the Kubernetes controllers until the test ends.
func runControllers(t *testing.T, names string) {
	t.Helper()
	runProgram(t, nil, "kube-controller-manager", "--controllers="+names, "--leader-elect=false", "--secure-port=0")
}

// runProgram runs a program with a kubeconfig until the test ends.
func runProgram(t *testing.T, environment []string, name string, args ...string) {
	t.Helper()
	program, err := apiserver.Program(name)
	must(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"a": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"a": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		}},
		Contexts: map[string]*clientcmdapi.Context{"a": {Cluster: "a", AuthInfo: "a"}}, CurrentContext: "a",
	}, path))
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	controller := exec.Command(program, append(args, "--kubeconfig="+path)...)
	controller.Env = append(os.Environ(), environment...)
	controller.Stdout, controller.Stderr = log, log
	controller.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, controller.Start())
	t.Cleanup(func() {
		_ = controller.Process.Kill()
		_ = controller.Wait()
		_ = log.Close()
		if content, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%s", name, content[max(0, len(content)-4000):])
		}
	})
}

// alone returns an Indexed Job with two pods and without a JobSet.
func alone(timeout string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Annotations: map[string]string{v1alpha2.InPlaceTimeoutKey: timeout}},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](2), CompletionMode: ptr.To(batchv1.IndexedCompletion), BackoffLimit: ptr.To[int32](2),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "train:1", Command: []string{"train"}}},
			}},
		},
	}
}

var slots = []string{"train-workers-0-0", "train-workers-0-1"}

// runAlone creates an Indexed Job, and makes its workers join.
func (g *guest) runAlone(job *batchv1.Job) {
	g.Helper()
	made, err := g.core.BatchV1().Jobs(g.namespace).Create(g.Context(), job, metav1.CreateOptions{})
	g.ok(err)
	g.group = string(made.UID)
	g.joinAlone(1)
	g.awaitOfJob(inSync + "=True/InSync")
}

func (g *guest) aloneJob() *batchv1.Job {
	g.Helper()
	job, err := g.core.BatchV1().Jobs(g.namespace).Get(g.Context(), "train", metav1.GetOptions{})
	g.ok(err)
	return job
}

// alonePods returns the pods of the Job that are not being deleted, by completion index. The test acts as the kubelet
// and removes deleted pods.
func (g *guest) alonePods() []*corev1.Pod {
	g.Helper()
	pods := make([]*corev1.Pod, len(slots))
	list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{})
	g.ok(err)
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.DeletionTimestamp.IsZero() {
			index := slices.Index([]string{"0", "1"}, pod.Annotations[batchv1.JobCompletionIndexAnnotation])
			pods[index] = pod
			continue
		}
		pod.Status.Phase = corev1.PodFailed
		_, err := g.core.CoreV1().Pods(g.namespace).UpdateStatus(g.Context(), pod, metav1.UpdateOptions{})
		g.ok(client.IgnoreNotFound(err))
	}
	return pods
}

// joinAlone waits until the Job controller has created new pods other than those in before, and makes their agents
// join.
func (g *guest) joinAlone(generation int64, before ...*corev1.Pod) {
	g.Helper()
	var pods []*corev1.Pod
	g.eventually(func() string {
		pods = g.alonePods()
		for i, pod := range pods {
			if pod == nil || slices.ContainsFunc(before, func(old *corev1.Pod) bool { return old.UID == pod.UID }) {
				return slots[i] + " has no new pod"
			}
		}
		return ""
	})
	for i, pod := range pods {
		g.joinAt(slots[i], pod, generation)
	}
}

func (g *guest) awaitOfJob(want string) {
	g.Helper()
	g.eventually(func() string {
		got := inSync + " is absent"
		for _, c := range g.aloneJob().Status.Conditions {
			if c.Type == inSync {
				got = inSync + "=" + string(c.Status) + "/" + c.Reason
			}
		}
		return sandbox.Differs("condition", want, got)
	})
}

func (g *guest) awaitRestarts(want string) {
	g.Helper()
	g.eventually(func() string {
		return sandbox.Differs("restarts", want, g.aloneJob().Annotations[v1alpha2.InPlaceRestartsKey])
	})
}

func TestIndexedJobRestartsInPlaceUntilItsBudgetIsUsedUp(t *testing.T) {
	g := newGuest(t)
	runJobController(t)
	g.runAlone(alone("60s"))
	job, pods := g.aloneJob(), g.alonePods()
	template := job.Spec.Template
	if job.Annotations[v1alpha2.LedByKey] != guestName || job.Annotations[v1alpha2.MaxRestartsKey] != "2" || *job.Spec.BackoffLimit < 6 {
		t.Errorf("the Job has %v and the backoffLimit %d", job.Annotations, *job.Spec.BackoffLimit)
	}
	if got := *job.Spec.PodReplacementPolicy; got != batchv1.Failed {
		t.Errorf("pods are replaced when they are %s", got)
	}
	if len(template.Spec.InitContainers) != 1 || template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		t.Errorf("the pods have no supervisor: %+v", template.Spec)
	}
	for restart, count := range []string{"1", "2"} {
		g.dieAt(slots[restart], pods[restart])
		g.awaitRestarts(count)
		for i, pod := range pods {
			g.joinAt(slots[i], pod, 1)
		}
		g.awaitOfJob(inSync + "=True/InSync")
	}
	g.dieAt(slots[0], pods[0])
	g.awaitRestarts("3")
	g.eventually(func() string {
		g.alonePods()
		for _, c := range g.aloneJob().Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				return sandbox.Differs("reason", v1alpha2.ReachedMaxRestartsReason, c.Reason)
			}
		}
		return "the Job has not failed"
	})
}

func TestIndexedJobWhoseRestartTimesOutGetsNewPods(t *testing.T) {
	g := newGuest(t)
	runJobController(t)
	g.runAlone(alone("2s"))
	before := g.alonePods()
	g.dieAt(slots[1], before[1]) // and no worker comes back
	g.joinAlone(2, before...)
	g.awaitOfJob(inSync + "=True/InSync")
	g.awaitRestarts("2") // one for the restart and one for the recreation
	if record, err := epoch.Of(g.aloneJob().Annotations); err != nil || record.Epoch != 2 {
		t.Errorf("the epoch is %+v, %v", record, err)
	}
}

func TestIndexedJobThatCannotRestartInPlaceIsReported(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		"a bad annotation": func(job *batchv1.Job) { job.Annotations[v1alpha2.InPlaceTimeoutKey] = "soon" },
		"not Indexed":      func(job *batchv1.Job) { job.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion) },
		"not all at once":  func(job *batchv1.Job) { job.Spec.Parallelism = ptr.To[int32](1) },
		"only on the pod template": func(job *batchv1.Job) {
			job.Annotations, job.Spec.Template.Annotations = nil, job.Annotations
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			job := alone("60s")
			change(job)
			_, err := g.core.BatchV1().Jobs(g.namespace).Create(t.Context(), job, metav1.CreateOptions{})
			g.ok(err)
			g.awaitOfJob(inSync + "=False/NotPossible")
			if made := g.aloneJob(); made.Annotations[v1alpha2.LedByKey] != "" || len(made.Spec.Template.Spec.InitContainers) > 0 {
				t.Errorf("the Job is prepared: %v", made.Annotations)
			}
		})
	}
}

func TestIndexedJobThatTheWebhookMissedIsReported(t *testing.T) {
	g := newGuest(t)
	g.stop() // this also stops its webhook, which fails open
	_, err := g.core.BatchV1().Jobs(g.namespace).Create(t.Context(), alone("60s"), metav1.CreateOptions{})
	g.ok(err)
	g.start()
	g.awaitOfJob(inSync + "=False/NotPossible")
	g.ok(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		job := g.aloneJob()
		delete(job.Annotations, v1alpha2.InPlaceTimeoutKey)
		_, err := g.core.BatchV1().Jobs(g.namespace).Update(t.Context(), job, metav1.UpdateOptions{})
		return err
	}))
	g.awaitOfJob(inSync + " is absent")
}

func TestCopyOfAnIndexedJobStartsFromZero(t *testing.T) {
	g := newGuest(t)
	runJobController(t)
	job := alone("60s")
	job.Name, job.GenerateName = "", "train-"
	for key, value := range map[string]string{
		v1alpha2.WrittenForKey: "another", v1alpha2.LedByKey: "other/one", v1alpha2.InPlaceRestartsKey: "2", epoch.Annotation: `{"epoch":7,"base":2,"recreate":0}`,
	} {
		job.Annotations[key] = value
	}
	made, err := g.core.BatchV1().Jobs(g.namespace).Create(t.Context(), job, metav1.CreateOptions{})
	g.ok(err)
	if by := made.Annotations[v1alpha2.LedByKey]; by != guestName || made.Annotations[epoch.Annotation] != "" || made.Annotations[v1alpha2.InPlaceRestartsKey] != "" {
		t.Errorf("the annotations are %v", made.Annotations)
	}
	if name := made.Spec.Template.Annotations[v1alpha2.JobSetNameKey]; made.Name == "" || name != made.Name {
		t.Errorf("the pods belong to %q, the Job is %q", name, made.Name)
	}
}
