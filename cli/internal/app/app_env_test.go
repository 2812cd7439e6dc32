//go:build envtest

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

var (
	k8s        client.Client
	kubeconfig string
)

// TestMain runs a kube-apiserver that knows JobSets and AppWrappers, and no ElasticJobs.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	apiServer, etcd, err := assets()
	if err != nil {
		return 0, err
	}
	env := &envtest.Environment{ErrorIfCRDPathMissing: true, CRDDirectoryPaths: []string{
		"../../../jobset-controller/config/crd/bases", "../../../appwrapper-controller/config/crd/bases",
	}}
	env.ControlPlane.GetAPIServer().Path = apiServer
	env.ControlPlane.Etcd = &envtest.Etcd{Path: etcd}
	config, err := env.Start()
	defer func() { err = errors.Join(err, env.Stop()) }()
	if err != nil {
		return 0, err
	}
	if k8s, err = client.New(config, client.Options{}); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "holdfast-cli-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(config); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func writeKubeconfig(c *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "default"}
	file.CurrentContext = "x"
	return clientcmd.WriteToFile(*file, kubeconfig)
}

// assets are where `make prerequisites` puts them, or where the environment says.
func assets() (apiServer, etcd string, err error) {
	folders := []string{os.Getenv("HOLDFAST_ENVTEST_ASSETS"), os.Getenv("KUBEBUILDER_ASSETS")}
	if cache, err := os.UserCacheDir(); err == nil {
		folders = append(folders, filepath.Join(cache, "holdfast", "bin"))
	}
	for _, folder := range folders {
		apiServer = filepath.Join(folder, "kube-apiserver")
		if _, err := os.Stat(apiServer); folder == "" || err != nil {
			continue
		}
		if etcd, err := exec.LookPath(filepath.Join(folder, "etcd")); err == nil {
			return apiServer, etcd, nil
		}
		etcd, err := exec.LookPath("etcd")
		return apiServer, etcd, err
	}
	return "", "", errors.New("no kube-apiserver and etcd: run `make prerequisites`, or set HOLDFAST_ENVTEST_ASSETS or KUBEBUILDER_ASSETS to their folder")
}

// holdfast runs a command in a namespace and returns what it prints.
func holdfast(t *testing.T, namespace string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command(Terminal{Out: &out, Err: &out, Now: time.Now})
	cmd.SetArgs(append(args, "--kubeconfig", kubeconfig, "--namespace", namespace))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cli-"}}
	ok(t, k8s.Create(t.Context(), ns))
	return ns.Name
}

func create(t *testing.T, ns, text string, status map[string]any) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal([]byte(text), &o.Object))
	o.SetNamespace(ns)
	ok(t, k8s.Create(t.Context(), o))
	if status != nil {
		o.Object["status"] = status
		ok(t, k8s.Status().Update(t.Context(), o))
	}
	return o
}

const template = `{containers: [{name: worker, image: image}]}`

// wrapped is an AppWrapper that was reset once, around a JobSet that has restarted once, with one pod.
func wrapped(t *testing.T) (ns string) {
	t.Helper()
	ns = namespace(t)
	aw := create(t, ns, `
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: whole, labels: {kueue.x-k8s.io/queue-name: q}}
spec: {components: [{template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]}`, map[string]any{
		"phase": "Running", "resettingCount": int64(1),
		"conditions": []any{map[string]any{
			"type": "QuotaReserved", "status": "True", "reason": "Resuming", "message": "", "lastTransitionTime": "2026-11-22T12:00:00Z",
		}},
		"attempts": []any{
			map[string]any{"number": int64(1), "startTime": "2026-11-22T12:00:00Z", "readyTime": "2026-11-22T12:00:05Z", "endTime": "2026-11-22T12:10:00Z",
				"reason": "FailedComponent", "message": "JobSet train has failed"},
			map[string]any{"number": int64(2), "startTime": "2026-11-22T12:12:00Z", "readyTime": "2026-11-22T12:12:06Z"},
		},
	})
	js := create(t, ns, fmt.Sprintf(`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: whole, uid: %s, controller: true}]
  annotations:
    alpha.jobset.sigs.k8s.io/inplace-timeout: 60s
    alpha.jobset.sigs.k8s.io/inplace-restarts: "1"
    holdfast.dev/restart-history: "1.1 2026-11-22T12:20:00.120Z in-place exit:137:SIGKILL workers-0-3/x7k2p@node-a 81=1+2+30+20+28"
spec:
  failurePolicy: {maxRestarts: 5}
  replicatedJobs: [{name: workers, template: {spec: {template: {spec: %s}}}}]`, aw.GetUID(), template), nil)
	job := create(t, ns, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata:
  name: train-workers-0
  ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: train, uid: %s, controller: true}]
spec: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: image}]}}}`, js.GetUID()), nil)
	create(t, ns, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: train-workers-0-0-abcde
  labels: {workload.codeflare.dev/appwrapper: whole, jobset.sigs.k8s.io/jobset-name: train}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train-workers-0, uid: %s, controller: true}]
spec: %s`, job.GetUID(), template), map[string]any{
		"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
	})
	ok(t, k8s.Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e", Namespace: ns}, Reason: "InPlacePodReplaced", Message: "its pod was gone: a new one is made", Type: "Warning",
		InvolvedObject: corev1.ObjectReference{Kind: "JobSet", Name: "train", Namespace: ns, UID: js.GetUID()}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
	}))
	return ns
}

// The cluster has no ElasticJobs: that is no error anywhere.
func TestTheWholeWorkloadIsShownFromAnyOfItsObjects(t *testing.T) {
	ns := wrapped(t)
	for _, name := range []string{"whole", "train", "jobset/train", "jobs/train-workers-0"} {
		text, err := holdfast(t, ns, "status", name)
		ok(t, err)
		says(t, text, "AppWrapper "+ns+"/whole", "Training", "1 of 1 ready", "held", "resets 1", "restarts 1 of 5", "exited with code 137 (SIGKILL)")
	}
	text, err := holdfast(t, ns, "timeline", "whole")
	ok(t, err)
	says(t, text, "restart in place", "81ms", "workers-0-3 on node-a", "reset", "JobSet train has failed", "its pod was gone")
	if reset, restart := strings.Index(text, "FailedComponent"), strings.Index(text, "81ms"); reset > restart {
		t.Errorf("it is not in order:\n%s", text)
	}
}

func TestWhyAPodIsNotMoved(t *testing.T) {
	ns := wrapped(t)
	text, err := holdfast(t, ns, "why", "train-workers-0-0-abcde", "-o", "wide")
	ok(t, err)
	says(t, text, "Job train-workers-0 < JobSet train < AppWrapper whole", "no owner of it has the annotation schedulingRetries", "ProcessEnded", "1 orchestrator")
}

func TestTopAndItsFormats(t *testing.T) {
	ns := wrapped(t)
	text, err := holdfast(t, ns, "top")
	ok(t, err)
	says(t, text, "AppWrapper", "whole", "126.1s")
	if strings.Contains(text, "train") {
		t.Errorf("a JobSet of an AppWrapper has a row of its own:\n%s", text)
	}
	text, err = holdfast(t, ns, "top", "-A", "-o", "json")
	ok(t, err)
	says(t, text, `"kind": "AppWrapper"`, `"lostNanoseconds": 126081000000`)
	text, err = holdfast(t, ns, "status", "whole", "-o", "yaml")
	ok(t, err)
	says(t, text, "state: Training")
}

func TestAPlainDeploymentHasAStatusToo(t *testing.T) {
	ns := namespace(t)
	create(t, ns, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {schedulingRetries: "3"}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: %s}}`, template), nil)
	text, err := holdfast(t, ns, "status", "web")
	ok(t, err)
	says(t, text, "Deployment "+ns+"/web", "moves 0 of 3", "its pods to be created")
}

func TestMistakes(t *testing.T) {
	ns := namespace(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing of the name":   {[]string{"status", "x"}, "no AppWrapper, JobSet, Job, Deployment, StatefulSet, ReplicaSet of the name x"},
		"a kind without a CRD":  {[]string{"status", "elasticjob/x"}, `no kind "elasticjob"`},
		"a pod that is not":     {[]string{"why", "x"}, "no pod x"},
		"a format that is none": {[]string{"top", "-o", "xml"}, `"xml", not one of table, wide, json, yaml`},
		"no name":               {[]string{"timeline"}, "accepts 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := holdfast(t, ns, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// The line changes when the workload does, and the watch ends with it.
func TestWatchEndsWithTheWorkload(t *testing.T) {
	ns := wrapped(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &lines{first: make(chan struct{})}
	cmd := Command(Terminal{Out: out, Err: out, Now: time.Now})
	cmd.SetArgs([]string{"status", "whole", "--watch", "--kubeconfig", kubeconfig, "--namespace", ns})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	<-out.first
	aw := &unstructured.Unstructured{}
	aw.SetAPIVersion("workload.codeflare.dev/v1beta2")
	aw.SetKind("AppWrapper")
	ok(t, k8s.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "whole"}, aw))
	ok(t, unstructured.SetNestedField(aw.Object, "Succeeded", "status", "phase"))
	ok(t, k8s.Status().Update(t.Context(), aw))
	ok(t, <-done)
	says(t, out.String(), "Training", "Finished")
}

// lines tells when the first was written.
type lines struct {
	bytes.Buffer
	first chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	select {
	case <-l.first:
	default:
		close(l.first)
	}
	return n, err
}
