//go:build envtest && neighbors

package published

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// moduleDir returns the folder of a module, in the version pinned by a module below tools.
func moduleDir(t *testing.T, tool, module string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join("..", "..", "tools", tool), append(os.Environ(), "GOWORK=off"), os.Stderr
	out, err := cmd.Output()
	must(t, err)
	var found struct{ Dir string }
	must(t, json.Unmarshal(out, &found))
	return found.Dir
}

// neighbor is a controller of another project, pinned by a module below tools.
type neighbor struct {
	tool, module, crds, webhooks string
	config                       string // with placeholders for the webhooks' port and the folder of their certificates
}

var (
	leaderWorkerSets = neighbor{"lws", "sigs.k8s.io/lws", "config/crd/bases", "config/webhook/manifests.yaml", `apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {port: %s, certDir: %s}
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
internalCertManagement: {enable: false}
`}
	trainer = neighbor{"trainer", "github.com/kubeflow/trainer/v2", "manifests/base/crds", "manifests/base/webhook/manifests.yaml", `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
webhook: {port: %s} # it finds its certificates in the folder for temporary files: %s
leaderElection: {leaderElect: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
certManagement: {enable: false}
`}
)

// runNeighbor runs the actual controller with its webhooks until the test ends, and returns its module's folder.
func (g *guest) runNeighbor(n neighbor) (module string) {
	g.Helper()
	module = moduleDir(g.T, n.tool, n.module)
	temporary := g.TempDir()
	certificates := filepath.Join(temporary, "k8s-webhook-server", "serving-certs")
	g.ok(os.MkdirAll(certificates, 0o700))
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{filepath.Join(module, n.crds)}, ErrorIfPathMissing: true})
	g.ok(err)
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	g.ok(err)
	_, port, err := net.SplitHostPort(sandbox.FreeAddress(g.T))
	g.ok(err)
	path := filepath.Join(certificates, "config.yaml")
	for file, content := range map[string]string{
		"tls.crt": string(certificate), "tls.key": string(key), "config.yaml": fmt.Sprintf(n.config, port, certificates),
	} {
		g.ok(os.WriteFile(filepath.Join(certificates, file), []byte(content), 0o600))
	}
	g.installNeighborWebhooks(filepath.Join(module, n.webhooks), "https://localhost:"+port, n.tool, certificate)
	runProgram(g.T, []string{"TMPDIR=" + temporary}, n.tool, "--config="+path)
	return module
}

// installNeighborWebhooks makes the API server call and trust the webhooks until the test ends.
func (g *guest) installNeighborWebhooks(file, url, secret string, authority []byte) {
	g.Helper()
	k8s, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	g.ok(err)
	apiserver.InstallWebhooks(g.T, k8s, file, url, secret)
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	mutating.Name, validating.Name = "mutating-webhook-configuration", "validating-webhook-configuration"
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: secret}}
	g.Cleanup(func() {
		for _, object := range []client.Object{mutating, validating, kept} {
			g.ok(k8s.Delete(context.Background(), object))
		}
	})
	g.ok(k8s.Get(g.Context(), client.ObjectKeyFromObject(mutating), mutating))
	g.ok(k8s.Get(g.Context(), client.ObjectKeyFromObject(validating), validating))
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = authority
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = authority
	}
	g.ok(k8s.Update(g.Context(), mutating))
	g.ok(k8s.Update(g.Context(), validating))
}

// The pods created by the actual LeaderWorkerSet controller form groups: they restart in place, and the controller
// recreates the replica once the budget is used up.
func TestTheRealLeaderWorkerSetController(t *testing.T) {
	for _, policy := range []string{"RecreateGroupOnPodRestart", "None"} {
		t.Run(policy, func(t *testing.T) {
			g := newGuest(t)
			g.runNeighbor(leaderWorkerSets)
			runControllers(t, "statefulset-controller,garbage-collector-controller")
			g.createDefinedSet(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s", v1alpha2.MaxRestartsKey: "1"}, func(set *unstructured.Unstructured) {
				g.ok(unstructured.SetNestedField(set.Object, policy, "spec", "leaderWorkerTemplate", "restartPolicy"))
			})
			for i := range 2 {
				g.runReplica(i, g.awaitReplica(i, nil))
			}
			pods := g.awaitReplica(1, nil)
			g.dieAt(replicaSlot(1, 1), pods[1])
			g.awaitRestartsOf("serve-1", "1")
			g.runReplica(1, pods)
			g.dieAt(replicaSlot(1, 0), pods[0])
			g.runReplica(1, g.awaitReplica(1, pods)) // the recreated replica
			g.awaitRestartsOf("serve-1", "0")
			g.awaitRestartsOf("serve-0", "0")
		})
	}
}

// A TrainJob restarts in place with the runtime that Kubeflow Trainer installs, if its runtimePatches request it. It
// fails once its budget is exceeded.
func TestTheRealTrainer(t *testing.T) {
	g := newGuest(t)
	runTheirs(t)
	runControllers(t, "job-controller")
	module := g.runNeighbor(trainer)
	k8s, err := client.New(config, client.Options{})
	g.ok(err)
	text, err := os.ReadFile(filepath.Join(module, "manifests", "base", "runtimes", "torch_distributed.yaml"))
	g.ok(err)
	// These defaults are set by the webhook of the upstream JobSet controller, which is not served here.
	const defaults = "      network: {enableDNSHostnames: true, publishNotReadyAddresses: true}\n      successPolicy: {operator: All}\n" +
		"      startupPolicy: {startupPolicyOrder: AnyOrder}\n"
	runtime := strings.NewReplacer(
		"    spec:\n      replicatedJobs:", "    spec:\n"+defaults+"      replicatedJobs:",
		"            spec:\n              template:", "            spec:\n              completionMode: Indexed\n              template:",
		"                spec:\n                  containers:", "                spec:\n                  restartPolicy: OnFailure\n                  containers:",
	).Replace(string(text))
	for _, manifest := range []string{runtime, `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: ` + g.namespace + `}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, train.py]}
  runtimePatches:
    - manager: example.com/in-place
      trainingRuntimeSpec:
        template: {metadata: {annotations: {` + v1alpha2.InPlaceTimeoutKey + `: 60s, ` + v1alpha2.MaxRestartsKey + `: "1"}}}
`} {
		object := &unstructured.Unstructured{}
		g.ok(yaml.Unmarshal([]byte(manifest), &object.Object))
		g.eventually(func() string { // until its webhooks respond
			if err := k8s.Create(t.Context(), object); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	g.eventually(func() string {
		list, err := g.core.CoreV1().Pods(g.namespace).List(t.Context(), metav1.ListOptions{})
		g.ok(err)
		return sandbox.Differs("pods", "2", strconv.Itoa(len(list.Items)))
	})
	g.rejoin("a-node-0-0", "a-node-0-1")
	g.awaitCondition(inSync + "=True/InSync")
	g.die("a-node-0-1")
	g.awaitAnnotation(v1alpha2.InPlaceRestartsKey, "1")
	g.rejoin("a-node-0-0", "a-node-0-1")
	g.die("a-node-0-1")
	g.awaitCondition("Failed=True/" + v1alpha2.ReachedMaxRestartsReason)
	g.eventually(func() string {
		job := &unstructured.Unstructured{}
		job.SetAPIVersion("trainer.kubeflow.org/v1alpha1")
		job.SetKind("TrainJob")
		g.ok(k8s.Get(t.Context(), client.ObjectKey{Namespace: g.namespace, Name: "a"}, job))
		conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
		for _, one := range conditions {
			if c := one.(map[string]any); c["type"] == "Failed" && c["status"] == "True" {
				return ""
			}
		}
		return fmt.Sprintf("the TrainJob has the conditions %v", conditions)
	})
}

// awaitReplica waits until a replica has pods with agents that are not in before.
func (g *guest) awaitReplica(replica int, before []*corev1.Pod) []*corev1.Pod {
	g.Helper()
	pods := make([]*corev1.Pod, 2)
	g.eventually(func() string {
		list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{
			LabelSelector: "leaderworkerset.sigs.k8s.io/group-index=" + strconv.Itoa(replica),
		})
		g.ok(err)
		clear(pods)
		for i := range list.Items {
			pod := &list.Items[i]
			if index, err := strconv.Atoi(pod.Labels[v1alpha2.PodGroupIndexKey]); err == nil && index < len(pods) && policy.Lives(pod) {
				pods[index] = pod
			}
		}
		for i, pod := range pods {
			switch {
			case pod == nil:
				return fmt.Sprintf("pod %d of replica %d does not exist", i, replica)
			case slices.ContainsFunc(before, func(old *corev1.Pod) bool { return old.UID == pod.UID }):
				return pod.Name + " still exists"
			case pod.Annotations[v1alpha2.LedByKey] != guestName || len(pod.Spec.InitContainers) == 0:
				return pod.Name + " has no agent: " + pod.Annotations[v1alpha2.RefusedKey]
			case !strings.HasPrefix(pod.Name, "serve-"+strconv.Itoa(replica)):
				return pod.Name + " belongs to another replica"
			}
		}
		return ""
	})
	return pods
}
