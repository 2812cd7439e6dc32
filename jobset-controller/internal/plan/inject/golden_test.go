package inject

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"

	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// complete holds the settings of a manager that can add both drivers.
var complete = Settings{
	Store:     supervise.Store{Address: "valkey.holdfast.svc:6379", Username: "workers", Secret: "store", SecretKey: "token"},
	ExecImage: "registry.example/holdfast-exec:1", AgentImage: "registry.example/agent:1",
}

// guarded holds the settings of a manager whose store uses TLS and has a user for each JobSet.
var guarded = Settings{
	Store: supervise.Store{Address: "10.0.0.1:6379", TLS: true, ServerName: "valkey.holdfast.svc"}, StoreACL: true,
	ExecImage: complete.ExecImage, AgentImage: complete.AgentImage,
}

// plain returns a JobSet that requests in-place restarts and sets nothing else.
func plain(changes ...func(*v1alpha2.ReplicatedJob)) *JobSet {
	command := func(e *v1alpha2.ReplicatedJob) {
		c := &e.Template.Spec.Template.Spec.Containers[0]
		c.Command, c.Args = []string{"python"}, []string{"train.py", "--steps=100"}
	}
	return MakeJobSet("js").Annotation(v1alpha2.InPlaceTimeoutKey, "60s").
		Entry("workers", 2, append([]func(*v1alpha2.ReplicatedJob){command}, changes...)...)
}

// on sets an annotation of the Job template.
func on(key, value string) func(*v1alpha2.ReplicatedJob) {
	return func(e *v1alpha2.ReplicatedJob) {
		if e.Template.Annotations == nil {
			e.Template.Annotations = map[string]string{}
		}
		e.Template.Annotations[key] = value
	}
}

// rich sets fields that the driver must preserve, and fields that it must change.
func rich(e *v1alpha2.ReplicatedJob) {
	pod := &e.Template.Spec.Template.Spec
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.TerminationGracePeriodSeconds = ptr.To[int64](120)
	e.Template.Spec.BackoffLimit = new(int32)
	pod.Volumes = []corev1.Volume{{Name: "data"}}
	pod.InitContainers = []corev1.Container{{Name: "fetch", Image: "fetch-image"}}
	pod.Containers = append([]corev1.Container{{Name: "logs", Image: "logs-image"}}, pod.Containers...)
	worker := &pod.Containers[1]
	worker.Env = []corev1.EnvVar{{Name: "STEPS", Value: "100"}, supervise.FromField("JOB_INDEX", "metadata.labels['jobset.sigs.k8s.io/job-index']")}
	worker.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	worker.Resources = asks("cpu=2 memory=1Gi nvidia.com/gpu=8", "memory=1Gi nvidia.com/gpu=8")
}

func build(js *JobSet, rjob int, s Settings, current ...*batchv1.Job) *batchv1.Job {
	job := &batchv1.Job{Spec: *js.Spec.ReplicatedJobs[rjob].Template.Spec.DeepCopy()}
	job.Annotations, job.Labels = map[string]string{}, map[string]string{v1alpha2.JobSetNameKey: js.Name}
	For(Assess(js.Obj()), current, s).Into(rjob, job, First{Global: 3, Group: 1})
	return job
}

func TestGoldens(t *testing.T) {
	named := on(v1alpha2.InPlaceContainerKey, "worker")
	for name, c := range map[string]struct {
		js       *JobSet
		settings Settings
	}{
		"exec":      {plain(), Settings{Store: supervise.Store{Address: complete.Store.Address}, ExecImage: complete.ExecImage}},
		"exec-rich": {plain(rich, named), complete},
		"exec-progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "2m")).Annotation(v1alpha2.ProgressStartTimeoutKey, "10m").Annotation(v1alpha2.ProgressFromKey, "output"),
			Settings{Store: supervise.Store{Address: complete.Store.Address}, ExecImage: complete.ExecImage}},
		"cri": {plain(on(v1alpha2.InPlaceDriverKey, "cri")), Settings{Store: supervise.Store{Address: complete.Store.Address}, AgentImage: complete.AgentImage}},
		"exec-spares": {
			plain(worker(func(c *corev1.Container) {
				c.Env = []corev1.EnvVar{
					supervise.FromField("NODE_RANK", "metadata.labels['batch.kubernetes.io/job-completion-index']"),
					supervise.FromField("GLOBAL", "metadata.labels['jobset.sigs.k8s.io/job-global-index']"),
					supervise.FromField("GROUP", "metadata.annotations['jobset.sigs.k8s.io/job-group-index']"),
					supervise.FromField("JOB_INDEX", "metadata.labels['jobset.sigs.k8s.io/job-index']"),
					{Name: "MASTER_ADDR", Value: "js-workers-0-0.js"},
				}
			})).Annotation(v1alpha2.SparesKey, "2"), Settings{Store: supervise.Store{Address: complete.Store.Address}, ExecImage: complete.ExecImage}},
		"exec-user": {plain(), guarded},
		"cri-user":  {plain(on(v1alpha2.InPlaceDriverKey, "cri")), guarded},
		"cri-rich":  {plain(rich, named, on(v1alpha2.InPlaceDriverKey, "cri")), complete},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.js.DeepCopy()
			job := build(c.js, 0, c.settings)
			got, err := yaml.Marshal(map[string]any{"annotations": job.Annotations, "spec": job.Spec})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join("testdata", name+".yaml"), got)
			if diff := cmp.Diff(before, c.js.Obj()); diff != "" {
				t.Errorf("the JobSet was changed: %s", diff)
			}
		})
	}
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("not as in %s (go test -update writes it again), -want +got:\n%s", golden, diff)
	}
}
