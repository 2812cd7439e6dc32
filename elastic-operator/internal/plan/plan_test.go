package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

func env(pod *corev1.Pod, container int) map[string]string {
	values := map[string]string{}
	for _, v := range pod.Spec.Containers[container].Env {
		values[v.Name] = v.Value
	}
	return values
}

func TestEnvironmentOfOldAndNewLaunchers(t *testing.T) {
	job := MakeElasticJob("a").Workers(2, 3, 5).With(func(j *v1alpha1.ElasticJob) { j.UID = "uid" }).Obj()
	want := map[string]string{
		"RDZV_ENDPOINT": "etcd-service:2379", "JOB_ID": "a", "SIZE": "3", "MIN_SIZE": "2", "MAX_SIZE": "5",
		"PET_NNODES": "2:5", "PET_RDZV_BACKEND": "etcd", "PET_RDZV_ENDPOINT": "etcd-service:2379", "PET_RDZV_ID": "uid",
		"PET_RDZV_CONF": "timeout=1800,last_call_timeout=10", "PET_MAX_RESTARTS": "10", "PET_LOCAL_ADDR": "a-worker-1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "PYTHONUNBUFFERED": "1",
	}
	if diff := cmp.Diff(want, env(WorkerPod(job, 1, 0), 0)); diff != "" {
		t.Error(diff)
	}
}

func TestRendezvousEndpoint(t *testing.T) {
	for name, tc := range map[string]struct {
		change                       func(*v1alpha1.ElasticJob)
		backend, endpoint, configure string
	}{
		"the user's etcd":    {func(*v1alpha1.ElasticJob) {}, "etcd", "etcd-service:2379", "timeout=1800,last_call_timeout=10"},
		"the user's etcd-v2": {func(j *v1alpha1.ElasticJob) { j.Spec.RdzvBackend = "etcd-v2" }, "etcd-v2", "etcd-service:2379", "join_timeout=1800,last_call_timeout=10"},
		"c10d on a worker": {func(j *v1alpha1.ElasticJob) {
			j.Spec.RdzvBackend, j.Spec.RdzvEndpoint = "c10d", "a-worker-0:29400"
		}, "c10d", "a-worker-0:29400", "join_timeout=1800,last_call_timeout=10"},
		"managed": {func(j *v1alpha1.ElasticJob) { j.Spec.RdzvEndpoint = "" }, "c10d", "a-rendezvous:29400", "join_timeout=1800,last_call_timeout=10,is_host=0"},
		"managed, from before etcd needed an endpoint": {func(j *v1alpha1.ElasticJob) { j.Spec.RdzvEndpoint, j.Spec.RdzvBackend = "", "etcd" }, "c10d", "a-rendezvous:29400", "join_timeout=1800,last_call_timeout=10,is_host=0"},
	} {
		t.Run(name, func(t *testing.T) {
			e := env(WorkerPod(MakeElasticJob("a").With(tc.change).Obj(), 0, 0), 0)
			if e["PET_RDZV_BACKEND"] != tc.backend || e["PET_RDZV_ENDPOINT"] != tc.endpoint || e["PET_RDZV_CONF"] != tc.configure || e["RDZV_ENDPOINT"] != tc.endpoint {
				t.Errorf("%v", e)
			}
		})
	}
}

func TestTemplateTakesPrecedence(t *testing.T) {
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		c := &j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "PET_MAX_RESTARTS", Value: "3"}, {Name: "MINE", Value: "x"}}
		c.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4"), "cpu": resource.MustParse("2")}
	}).Obj()
	pod := WorkerPod(job, 0, 0)
	if e := env(pod, 0); e["PET_MAX_RESTARTS"] != "3" || e["MINE"] != "x" || e["PET_NPROC_PER_NODE"] != "4" {
		t.Errorf("%v", e)
	}
	names := map[string]int{}
	for _, v := range pod.Spec.Containers[0].Env {
		if names[v.Name]++; names[v.Name] > 1 {
			t.Errorf("%s is set twice", v.Name)
		}
	}
	if len(job.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Env) != 2 {
		t.Error("the template of the job was changed, which would end its admission")
	}
}

// The upstream controller prepended the arguments to those of every container, including sidecars.
func TestArgumentsOfTheFirstContainerOnRequest(t *testing.T) {
	make := func(annotation string) *corev1.Pod {
		return WorkerPod(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
			j.UID, j.Annotations = "uid", map[string]string{v1alpha1.InjectArgumentsKey: annotation}
			spec := &j.Spec.ReplicaSpecs.Worker.Template.Spec
			spec.Containers[0].Args = []string{"train.py"}
			spec.Containers = append(spec.Containers, corev1.Container{Name: "sidecar", Args: []string{"tail"}})
		}).Obj(), 0, 2)
	}
	if args := make("").Spec.Containers[0].Args; !slices.Equal(args, []string{"train.py"}) {
		t.Errorf("without the annotation: %q", args)
	}
	pod := make("true")
	want := []string{"--rdzv_backend=etcd", "--rdzv_endpoint=etcd-service:2379", "--rdzv_id=uid-2", "--nnodes=1:5", "train.py"}
	if diff := cmp.Diff(want, pod.Spec.Containers[0].Args); diff != "" || !slices.Equal(pod.Spec.Containers[1].Args, []string{"tail"}) {
		t.Errorf("%s, sidecar %q", diff, pod.Spec.Containers[1].Args)
	}
	if env(pod, 1)["PET_RDZV_ID"] != "uid-2" {
		t.Error("the sidecar does not have the run ID")
	}
}

func TestRestartPolicyOfPods(t *testing.T) {
	for policy, want := range map[v1alpha1.RestartPolicy]corev1.RestartPolicy{
		"": "Never", v1alpha1.RestartExitCode: "Never", v1alpha1.RestartNever: "Never", v1alpha1.RestartOnFailure: "OnFailure", v1alpha1.RestartAlways: "Always",
	} {
		if got := WorkerPod(MakeElasticJob("a").Restart(policy).Obj(), 0, 0).Spec.RestartPolicy; got != want {
			t.Errorf("%q: %s, want %s", policy, got, want)
		}
	}
}

func TestLabelsOfTheTemplateAreKept(t *testing.T) {
	pod := WorkerPod(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Labels = map[string]string{"team": "x", "job-name": "other"}
	}).Obj(), 3, 0)
	if pod.Labels["team"] != "x" || pod.Labels["job-name"] != "a" || pod.Labels["replica-index"] != "3" {
		t.Errorf("%v", pod.Labels)
	}
}

func TestIndexOf(t *testing.T) {
	for name, tc := range map[string]struct {
		pod    string
		labels map[string]string
		want   int
		is     bool
	}{
		"a worker":                     {"a-worker-3", WorkerLabels("a", 3), 3, true},
		"the name of another job":      {"b-worker-3", WorkerLabels("a", 3), 0, false},
		"a different index":            {"a-worker-4", WorkerLabels("a", 3), 0, false},
		"not a number":                 {"a-worker-x", map[string]string{"replica-type": "worker", "replica-index": "x"}, 0, false},
		"below zero":                   {"a-worker--1", map[string]string{"replica-type": "worker", "replica-index": "-1"}, 0, false},
		"an index above the maximum":   {"a-worker-100000", WorkerLabels("a", 100000), 0, false},
		"the rendezvous server":        {"a-rendezvous", rendezvousLabels("a"), 0, false},
		"a number with a leading zero": {"a-worker-3", map[string]string{"replica-type": "worker", "replica-index": "03"}, 3, true},
	} {
		got, is := IndexOf(&metav1.ObjectMeta{Name: tc.pod, Labels: tc.labels}, "a")
		if got != tc.want || is != tc.is {
			t.Errorf("%s: %d %t", name, got, is)
		}
	}
}

func TestNamesFitDNS(t *testing.T) {
	longest := strings.Repeat("a", 50)
	for _, name := range []string{WorkerName(longest, 99999), RendezvousName(longest)} {
		if len(name) > 63 {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
}

// If all nodes are tainted and images come from a private registry, the server can run wherever its workers can. It needs no
// GPU.
func TestServerHasTheTolerationsOfTheWorkers(t *testing.T) {
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		spec := &j.Spec.ReplicaSpecs.Worker.Template.Spec
		spec.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
		spec.PriorityClassName, spec.ImagePullSecrets = "training", []corev1.LocalObjectReference{{Name: "registry"}}
		spec.NodeSelector = map[string]string{"gpu": "h100"}
	}).Obj()
	workers, server := job.Spec.ReplicaSpecs.Worker.Template.Spec, RendezvousPod(job, "image:1", []string{"holdfast"}, 0).Spec
	if !slices.Equal(server.Tolerations, workers.Tolerations) || server.PriorityClassName != "training" || !slices.Equal(server.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "registry"}, {Name: "holdfast"}}) {
		t.Errorf("the server lacks tolerations, the priority or pull Secrets of the workers: %+v", server)
	}
	if server.NodeSelector != nil {
		t.Errorf("the server has the node selector %v", server.NodeSelector)
	}
}

func TestServerPodIsRestricted(t *testing.T) {
	job := MakeElasticJob("a").Namespace("ns").With(func(j *v1alpha1.ElasticJob) { j.UID = "uid" }).Obj()
	pod := RendezvousPod(job, "image:1", nil, 2)
	c := pod.Spec.Containers[0]
	if !slices.Contains(c.Args, "--run-id=uid-2") || !*c.SecurityContext.ReadOnlyRootFilesystem || *pod.Spec.AutomountServiceAccountToken || !*c.SecurityContext.RunAsNonRoot {
		t.Errorf("%+v", pod.Spec)
	}
	if c.LivenessProbe != nil {
		t.Error("a busy server would be killed, and all agents would exit")
	}
	for _, key := range []string{"cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"} {
		if _, there := pod.Annotations[key]; !there {
			t.Errorf("no annotation %s", key)
		}
	}
	for key, value := range RendezvousService(job).Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the service selects %s=%s", key, value)
		}
	}
	for key, value := range WorkerService(job, 0).Spec.Selector {
		if key == "replica-type" && pod.Labels[key] == value {
			t.Error("a worker's service selects the server")
		}
	}
}
