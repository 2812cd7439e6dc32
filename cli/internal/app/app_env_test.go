//go:build envtest

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
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
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

var (
	k8s        client.Client
	kubeconfig string
)

// TestMain runs the tests with a kube-apiserver that serves all kinds.
func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	config, stop, err := apiserver.Start("../../../charts/jobset-controller/files/crds", "../../../charts/appwrapper-controller/files/crds", "../../../charts/elastic-operator/files/crds")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
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

// holdfast runs a command in a namespace and returns its output.
func holdfast(t *testing.T, namespace string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command(Terminal{Out: &out, Err: &out, Now: time.Now, After: time.After})
	cmd.SetArgs(append(args, "--kubeconfig", kubeconfig, "--namespace", namespace))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the output does not contain %q:\n%s", part, text)
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

// wrapped creates an AppWrapper that was reset once, with a JobSet that has restarted once, and one pod.
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
    holdfast.dev/restart-history: |
      {"generation":1,"restart":1,"failedAt":"2026-11-22T12:20:00.12Z","kind":"in-place","cause":{"kind":"exit","exitCode":137,"signal":"SIGKILL"},"worker":"workers-0-3","pod":"x7k2p","node":"node-a","ms":[1,2,30,48],"counted":true}
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
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e", Namespace: ns}, Reason: "InPlacePodReplaced", Message: "worker train-workers-0-3 lost its pod; created a replacement", Type: "Warning",
		InvolvedObject: corev1.ObjectReference{Kind: "JobSet", Name: "train", Namespace: ns, UID: js.GetUID()}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(),
	}))
	return ns
}

func TestStatusFromAnyObject(t *testing.T) {
	ns := wrapped(t)
	for _, name := range []string{"whole", "train", "jobset/train", "jobs/train-workers-0"} {
		text, err := holdfast(t, ns, "status", name)
		ok(t, err)
		says(t, text, "AppWrapper "+ns+"/whole", "Training", "1 of 1 ready", "held", "resets 1", "restarts 1 of 5", "exited with code 137 (SIGKILL)")
	}
	text, err := holdfast(t, ns, "timeline", "whole")
	ok(t, err)
	says(t, text, "restart in place", "81ms", "workers-0-3 on node-a", "reset", "JobSet train has failed", "lost its pod")
	if reset, restart := strings.Index(text, "FailedComponent"), strings.Index(text, "81ms"); reset > restart {
		t.Errorf("the output is not in order:\n%s", text)
	}
}

func TestWhyPodIsNotMoved(t *testing.T) {
	ns := wrapped(t)
	text, err := holdfast(t, ns, "why", "train-workers-0-0-abcde")
	ok(t, err)
	says(t, text, "Job train-workers-0 < JobSet train < AppWrapper whole", "none of its owners has a valid annotation schedulingRetries")
}

func TestTopAndItsFormats(t *testing.T) {
	ns := wrapped(t)
	text, err := holdfast(t, ns, "top")
	ok(t, err)
	says(t, text, "AppWrapper", "whole", "126.1s")
	if strings.Contains(text, "train") {
		t.Errorf("a JobSet of an AppWrapper has its own row:\n%s", text)
	}
	text, err = holdfast(t, ns, "top", "-A", "-o", "json")
	ok(t, err)
	says(t, text, `"kind": "AppWrapper"`, `"lostNanoseconds": 126081000000`)
	text, err = holdfast(t, ns, "status", "whole", "-o", "yaml")
	ok(t, err)
	says(t, text, "state: Training")
}

// moved holds the rescheduler's annotations on a workload after a pod has failed on a node.
const moved = `{holdfast.dev/rescheduling: '{"version":1,"entries":[{"node":"node-a","class":"oom","reason":"OOMKilled","count":1,"last":"2026-11-22T12:20:00Z"}]}'}`

func TestTopHasMovedWorkloads(t *testing.T) {
	ns := namespace(t)
	pods := `{metadata: {labels: {a: b}}, spec: ` + template + `}`
	job := `{template: {spec: {restartPolicy: Never, containers: [{name: worker, image: image}]}}}`
	manifest := func(version, kind, name, annotations, spec string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, annotations: %s}, spec: %s}", version, kind, name, annotations, spec)
	}
	set := `{selector: {matchLabels: {a: b}}, template: ` + pods + `}`
	cron := `{schedule: "@daily", jobTemplate: {spec: ` + job + `}}`
	for kind, of := range map[string][2]string{
		"Deployment": {"apps/v1", set}, "StatefulSet": {"apps/v1", set}, "Job": {"batch/v1", job}, "CronJob": {"batch/v1", cron},
	} {
		create(t, ns, manifest(of[0], kind, "moved-"+strings.ToLower(kind), moved, of[1]), nil)
		create(t, ns, manifest(of[0], kind, "never", "{}", of[1]), nil)
	}
	create(t, ns, manifest("apps/v1", "ReplicaSet", "copied", moved, set), nil)
	text, err := holdfast(t, ns, "top", "-o", "wide")
	ok(t, err)
	says(t, text, "moved-deployment", "moved-statefulset", "moved-job", "moved-cronjob", "0/0/0/1/0/0")
	if n := strings.Count(text, "\n"); n != 5 {
		t.Errorf("%d lines, want a header and 4 workloads:\n%s", n, text)
	}
}

func TestStatusOfCronJob(t *testing.T) {
	ns := namespace(t)
	job := `{template: {spec: {restartPolicy: Never, containers: [{name: worker, image: image}]}}}`
	cron := create(t, ns, `{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, annotations: `+moved+`}, spec: {schedule: "@daily", jobTemplate: {spec: `+job+`}}}`, nil)
	run := create(t, ns, fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: nightly-1, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: %s, controller: true}]}
spec: %s`, cron.GetUID(), job), nil)
	create(t, ns, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: nightly-1-abcde, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: nightly-1, uid: %s, controller: true}]}
spec: %s`, run.GetUID(), template), map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}})
	for _, name := range []string{"nightly", "job/nightly-1"} {
		text, err := holdfast(t, ns, "status", name)
		ok(t, err)
		says(t, text, "CronJob "+ns+"/nightly", "Training", "1 of 1 ready", "node avoided", "OOMKilled")
	}
}

func TestStatusOfDeployment(t *testing.T) {
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

// Of three workers, one was abandoned and its pod is kept, and another one is pending. The remaining worker is
// sufficient.
func TestElasticJobWithFewerWorkersIsTraining(t *testing.T) {
	ns := namespace(t)
	job := create(t, ns, fmt.Sprintf(`
apiVersion: elastic.pytorch.org/v1alpha1
kind: ElasticJob
metadata: {name: elastic}
spec: {minReplicas: 1, maxReplicas: 3, replicaSpecs: {Worker: {replicas: 3, template: {spec: %s}}}}`, template), map[string]any{
		"state": "Running", "message": "1 of 3 workers are running: 1 waiting for a node, 1 abandoned", "failedIndexes": "1",
		"conditions": []any{map[string]any{"type": "Running", "status": "True", "reason": "ElasticJobRunning"}},
	})
	for name, labels := range map[string]string{
		"elastic-rendezvous": "replica-type: rendezvous", "elastic-worker-0": "replica-type: worker, replica-index: '0'",
		"elastic-worker-1": "replica-type: worker, replica-index: '1'", "elastic-worker-2": "replica-type: worker, replica-index: '2'",
	} {
		phase, ready := "Running", "True"
		switch name {
		case "elastic-worker-1":
			phase, ready = "Failed", "False"
		case "elastic-worker-2":
			phase, ready = "Pending", "False"
		}
		create(t, ns, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {group-name: elastic.pytorch.org, job-name: elastic, %s}
  ownerReferences: [{apiVersion: elastic.pytorch.org/v1alpha1, kind: ElasticJob, name: elastic, uid: %s, controller: true}]
spec: %s`, name, labels, job.GetUID(), template), map[string]any{
			"phase": phase, "conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		})
	}
	text, err := holdfast(t, ns, "status", "elastic")
	ok(t, err)
	says(t, text, "ElasticJob "+ns+"/elastic", "Training", "1 of 2 ready", "1 waiting for a node, 1 abandoned", "elastic-worker-2: ")
	for _, not := range []string{"elastic-rendezvous", "elastic-worker-1:"} {
		if strings.Contains(text, not) {
			t.Errorf("the output names %s:\n%s", not, text)
		}
	}
}

func TestUserErrors(t *testing.T) {
	ns := namespace(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no such object":       {[]string{"status", "x"}, "no AppWrapper, JobSet, ElasticJob, CronJob, Job, Deployment, StatefulSet, ReplicaSet, group of pods named x"},
		"a kind without a CRD": {[]string{"status", "pytorchjob/x"}, `no supported kind "pytorchjob"`},
		"a missing pod":        {[]string{"why", "x"}, "no pod x"},
		"an invalid format":    {[]string{"top", "-o", "xml"}, `"xml", not one of table, wide, json, yaml`},
		"no name":              {[]string{"timeline"}, "accepts 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := holdfast(t, ns, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// The output shows what the user is allowed to read, and names the missing permissions.
func TestUserWithPermissionForJobSetsAndPods(t *testing.T) {
	ns := wrapped(t)
	create(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: jobsets}
rules:
- {apiGroups: [jobset.x-k8s.io], resources: [jobsets], verbs: [get, list]}
- {apiGroups: [""], resources: [pods], verbs: [list]}`, nil)
	create(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: jobsets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: jobsets}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: guest}]`, nil)
	text, err := holdfast(t, ns, "status", "train", "--as", "guest")
	ok(t, err)
	says(t, text, "JobSet "+ns+"/train", "no permission to get appwrappers, list events")
	text, err = holdfast(t, ns, "top", "--as", "guest")
	ok(t, err)
	says(t, text, "train", "no permission to list appwrappers, list elasticjobs")
	for name, args := range map[string][]string{
		"no permission to list appwrappers":                   {"top", "-A"},
		"no permission to get AppWrapper, ElasticJob":         {"status", "x"},
		"no permission to get AppWrapper in namespace " + ns:  {"status", "appwrapper/whole"},
		"pods \"train-workers-0-0-abcde\" is forbidden: User": {"why", "train-workers-0-0-abcde"},
	} {
		if text, err := holdfast(t, ns, append(args, "--as", "guest")...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: error %v, want %q; output:\n%s", args, err, name, text)
		}
	}
}

// The line changes when the workload changes, and the watch ends when the workload ends.
func TestWatchEndsWithTheWorkload(t *testing.T) {
	ns := wrapped(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &lines{first: make(chan struct{})}
	cmd := Command(Terminal{Out: out, Err: out, Now: time.Now, After: time.After})
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

// lines collects the output, and closes the channel first when the first line is written.
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
