package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/roster"
)

var agents = Agents{ExecImage: "exec:1", Store: supervise.Store{Address: "valkey:6379", TLS: true}, StoreACL: true}

func inPlace(changes ...func(*v1alpha1.ElasticJob)) *v1alpha1.ElasticJob {
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		j.UID = "job-uid"
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, v1alpha1.InPlaceTimeoutKey, "90s")
		j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Command = []string{"torchrun"}
	}).Obj()
	for _, change := range changes {
		change(job)
	}
	return job
}

func TestSupervisedPod(t *testing.T) {
	job := inPlace()
	pod := WorkerPod(job, 2, 1)
	agents.Supervise(job, pod, 2, 1)
	c := pod.Spec.Containers[0]
	want := []string{
		"/holdfast/holdfast-exec", "--pod-termination-grace-period=30s", "--log-level=info", "--worker-jobset-uid=job-uid",
		"--worker-id=worker-2.$(HOLDFAST_POD_UID)-0-0", "--worker-pod-uid=$(HOLDFAST_POD_UID)", "--worker-pod-epoch=2",
		"--pod-name=a-worker-2", "--node-name=$(HOLDFAST_NODE_NAME)", "--round-variables=PET_RDZV_ID", "--", "torchrun",
	}
	if diff := cmp.Diff(want, c.Command); diff != "" {
		t.Error(diff)
	}
	values := map[string]string{}
	for _, v := range c.Env {
		values[v.Name] = v.Value
		if v.ValueFrom != nil {
			values[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	for name, want := range map[string]string{
		"HOLDFAST_POD_UID": "metadata.uid", "HOLDFAST_NODE_NAME": "spec.nodeName", "VALKEY_ADDRESS": "valkey:6379",
		"VALKEY_USERNAME": "holdfast:job-uid", "VALKEY_PASSWORD_FILE": "/var/run/secrets/holdfast/password",
		"VALKEY_TLS_CA_FILE": "/var/run/secrets/holdfast/ca.crt", "STARTUP_DIR": "/holdfast", "JOB_ID": "a",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
	secret := func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == "holdfast-elastic-store-a"
	}
	if !slices.ContainsFunc(pod.Spec.Volumes, secret) || pod.Spec.InitContainers[0].Image != "exec:1" || pod.Annotations[epoch.Annotation] != "2" {
		t.Errorf("volumes %+v, init containers %+v, annotations %v", pod.Spec.Volumes, pod.Spec.InitContainers, pod.Annotations)
	}
	if job.Spec.ReplicaSpecs.Worker.Template.Spec.InitContainers != nil {
		t.Error("the template, which Kueue compares, was changed")
	}
}

// The supervisor's image may be in a registry for which the job's author has no credentials.
func TestSupervisedPodHasThePullSecretsOfTheSupervisor(t *testing.T) {
	of := func(names ...string) (list []corev1.LocalObjectReference) {
		for _, name := range names {
			list = append(list, corev1.LocalObjectReference{Name: name})
		}
		return list
	}
	job := inPlace(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.ImagePullSecrets = of("own", "both")
	})
	pod := WorkerPod(job, 0, 0)
	private := agents
	private.PullSecrets = []string{"both", "holdfast"}
	private.Supervise(job, pod, 0, 0)
	if diff := cmp.Diff(of("own", "both", "holdfast"), pod.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull Secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(of("own", "both"), job.Spec.ReplicaSpecs.Worker.Template.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("the template was changed (-want +got):\n%s", diff)
	}
}

// Without the annotation, the pod has no supervisor.
func TestPodWithoutInPlaceRestarts(t *testing.T) {
	job := inPlace(func(j *v1alpha1.ElasticJob) { j.Annotations = nil })
	pod, plain := WorkerPod(job, 0, 0), WorkerPod(job, 0, 0)
	agents.Supervise(job, pod, 0, 0)
	if diff := cmp.Diff(plain, pod); diff != "" {
		t.Error(diff)
	}
}

func TestReasonsAgainstInPlaceRestarts(t *testing.T) {
	spec := func(change func(*corev1.PodSpec)) func(*v1alpha1.ElasticJob) {
		return func(j *v1alpha1.ElasticJob) { change(&j.Spec.ReplicaSpecs.Worker.Template.Spec) }
	}
	annotation := func(key, value string) func(*v1alpha1.ElasticJob) {
		return func(j *v1alpha1.ElasticJob) { j.Annotations[key] = value }
	}
	two := spec(func(s *corev1.PodSpec) { s.Containers = append(s.Containers, corev1.Container{Name: "logs"}) })
	for name, tc := range map[string]struct {
		changes []func(*v1alpha1.ElasticJob)
		want    string // empty if nothing prevents in-place restarts
	}{
		"nothing":                         {nil, ""},
		"not a duration":                  {[]func(*v1alpha1.ElasticJob){annotation(v1alpha1.InPlaceTimeoutKey, "soon")}, `"soon" is not a duration`},
		"an empty duration":               {[]func(*v1alpha1.ElasticJob){annotation(v1alpha1.InPlaceTimeoutKey, "")}, "is empty"},
		"no command":                      {[]func(*v1alpha1.ElasticJob){spec(func(s *corev1.PodSpec) { s.Containers[0].Command = nil })}, "spec.replicaSpecs.Worker.template.spec.containers[0].command: Required"},
		"two containers":                  {[]func(*v1alpha1.ElasticJob){two}, "metadata.annotations[holdfast.dev/inplace-container]: Required"},
		"one of two containers":           {[]func(*v1alpha1.ElasticJob){two, annotation(v1alpha1.InPlaceContainerKey, inPlace().Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Name)}, ""},
		"a container that does not exist": {[]func(*v1alpha1.ElasticJob){annotation(v1alpha1.InPlaceContainerKey, "other")}, "no container of"},
		"a reserved variable":             {[]func(*v1alpha1.ElasticJob){spec(func(s *corev1.PodSpec) { s.Containers[0].Env = []corev1.EnvVar{{Name: "STARTUP_DIR"}} })}, "env[0].name"},
		"a reserved volume":               {[]func(*v1alpha1.ElasticJob){spec(func(s *corev1.PodSpec) { s.Volumes = []corev1.Volume{{Name: "holdfast-startup"}} })}, "volumes[0].name: Duplicate"},
		"a reserved init container":       {[]func(*v1alpha1.ElasticJob){spec(func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "holdfast-install"}} })}, "initContainers[0].name: Duplicate"},
		"a reserved mount path":           {[]func(*v1alpha1.ElasticJob){spec(func(s *corev1.PodSpec) { s.Containers[0].VolumeMounts = []corev1.VolumeMount{{MountPath: "/holdfast"}} })}, "mountPath: Duplicate"},
	} {
		got, err := agents.Timeout(inPlace(tc.changes...))
		switch {
		case tc.want == "" && (err != nil || got != 90*time.Second):
			t.Errorf("%s: %s, %v", name, got, err)
		case tc.want != "" && (err == nil || got != 0 || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Workers with and without a supervisor must meet at the same rendezvous, so no worker gets a rendezvous ID that changes with each
// restart.
func TestWorkersOfALargeJobShareOneRunID(t *testing.T) {
	for most, want := range map[int32]bool{roster.MaxMembers: true, roster.MaxMembers + 1: false} {
		job := inPlace(func(j *v1alpha1.ElasticJob) { j.Spec.MaxReplicas = &most })
		pod := WorkerPod(job, 0, 0)
		agents.Supervise(job, pod, 0, 0)
		own := slices.ContainsFunc(pod.Spec.Containers[0].Command, func(arg string) bool { return strings.HasPrefix(arg, "--round-variables") })
		if own != want {
			t.Errorf("at most %d workers: %v", most, pod.Spec.Containers[0].Command)
		}
	}
}

// The supervisor of a worker beyond the maximum group size would wait at the barrier forever.
func TestWorkersBeyondTheMaximumGroupSizeAreNotSupervised(t *testing.T) {
	for index, want := range map[int]bool{roster.MaxMembers - 1: true, roster.MaxMembers: false} {
		pod := WorkerPod(inPlace(), index, 0)
		agents.Supervise(inPlace(), pod, index, 0)
		if _, supervised := pod.Annotations[epoch.Annotation]; supervised != want {
			t.Errorf("worker %d is supervised: %t", index, supervised)
		}
	}
}
