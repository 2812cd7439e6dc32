package inject

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

type rjob = v1alpha2.ReplicatedJob

// job, pod and worker return functions that change the Job spec, the pod spec and the first container of a
// replicatedJob.
func job(change func(*batchv1.JobSpec)) func(*rjob) {
	return func(e *rjob) { change(&e.Template.Spec) }
}

func pod(change func(*corev1.PodSpec)) func(*rjob) {
	return func(e *rjob) { change(&e.Template.Spec.Template.Spec) }
}

func worker(change func(*corev1.Container)) func(*rjob) {
	return pod(func(p *corev1.PodSpec) { change(&p.Containers[0]) })
}

// byHand adds a sidecar to the template, with the settings that it needs, as a user would.
func byHand(e *rjob) {
	e.Template.Spec.BackoffLimit = ptr.To[int32](math.MaxInt32)
	e.Template.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "agent", Args: []string{"--worker-jobset-uid=$(JOBSET_UID)"}}}
}

func TestProblems(t *testing.T) {
	const at = "spec.replicatedJobs[0].template."
	cri := on(v1alpha2.InPlaceDriverKey, "cri")
	two := pod(func(p *corev1.PodSpec) { p.Containers = append(p.Containers, corev1.Container{Name: "logs"}) })
	noCommand := worker(func(c *corev1.Container) { c.Command = nil })
	env := func(v corev1.EnvVar) func(*rjob) {
		return worker(func(c *corev1.Container) { c.Env = []corev1.EnvVar{v} })
	}
	mount := func(path string) func(*rjob) {
		return worker(func(c *corev1.Container) { c.VolumeMounts = []corev1.VolumeMount{{Name: "x", MountPath: path}} })
	}
	cases := map[string]struct {
		js   *JobSet
		want string // path and reason of the problem; empty if there is none
	}{
		"a plain one": {plain(), ""},
		"no command": {
			plain(noCommand), at + "spec.template.spec.containers[0].command: Required value"},
		"no command, of the second replicatedJob": {
			plain().Entry("other", 1), "spec.replicatedJobs[1].template.spec.template.spec.containers[0].command: Required value"},
		"no command is fine with the cri driver":      {plain(noCommand, cri), ""},
		"no command is fine without a driver":         {plain(noCommand, on(v1alpha2.InPlaceDriverKey, "none")), ""},
		"no command is fine alongside agents by hand": {plain(byHand).Entry("driver", 1), ""},
		"no command, alongside agents by hand, where a driver is requested": {
			plain(byHand).Entry("driver", 1, on(v1alpha2.InPlaceDriverKey, "exec")), "spec.replicatedJobs[1].template.spec.template.spec.containers[0].command"},
		"several containers": {
			plain(two), at + "metadata.annotations[holdfast.dev/inplace-container]: Required value: the pod has 2 containers"},
		"several containers, the worker named":                {plain(two, on(v1alpha2.InPlaceContainerKey, "worker")), ""},
		"several containers, the worker named on the JobSet":  {plain(two).Annotation(v1alpha2.InPlaceContainerKey, "worker"), ""},
		"several containers, the one named without a command": {plain(two, on(v1alpha2.InPlaceContainerKey, "logs")), at + "spec.template.spec.containers[1].command"},
		"several containers, an unknown name": {
			plain(two, on(v1alpha2.InPlaceContainerKey, "trainer")), at + `metadata.annotations[holdfast.dev/inplace-container]: Invalid value: "trainer"`},
		"several containers, an unknown name on the JobSet": {
			plain(two).Annotation(v1alpha2.InPlaceContainerKey, "trainer"), `metadata.annotations[holdfast.dev/inplace-container]: Invalid value: "trainer"`},
		"no container at all": {
			plain(pod(func(p *corev1.PodSpec) { p.Containers = nil })), at + "metadata.annotations[holdfast.dev/inplace-container]"},
		"a pod failure policy": {
			plain(job(func(j *batchv1.JobSpec) { j.PodFailurePolicy = &batchv1.PodFailurePolicy{} })), at + "spec.podFailurePolicy: Forbidden"},
		"a limit for each index": {
			plain(job(func(j *batchv1.JobSpec) { j.BackoffLimitPerIndex = ptr.To[int32](1) })), at + "spec.backoffLimitPerIndex: Forbidden"},
		"no index": {
			plain(job(func(j *batchv1.JobSpec) { j.CompletionMode = ptr.To(batchv1.NonIndexedCompletion) })), at + `spec.completionMode: Invalid value: "NonIndexed"`},
		"more completions than pods at a time": {
			plain(job(func(j *batchv1.JobSpec) { j.Completions = ptr.To[int32](4) })), at + "spec.completions: Invalid value: 4"},
		"no completions, several pods": {
			plain(job(func(j *batchv1.JobSpec) { j.Completions, j.Parallelism = nil, ptr.To[int32](4) })), at + "spec.completions: Invalid value: 1"},
		"neither": {plain(job(func(j *batchv1.JobSpec) { j.Completions, j.Parallelism = nil, nil })), ""},
		"an unknown driver": {
			plain(on(v1alpha2.InPlaceDriverKey, "sidecar")), at + `metadata.annotations[holdfast.dev/inplace-driver]: Unsupported value: "sidecar": supported values: "exec", "cri", "none"`},
		"an unknown driver on the JobSet, reported once": {
			plain().Entry("other", 1).Annotation(v1alpha2.InPlaceDriverKey, ""), `metadata.annotations[holdfast.dev/inplace-driver]: Unsupported value: ""`},
		"a variable of ours with another value": {
			plain(env(corev1.EnvVar{Name: "JOB_INDEX", Value: "7"})), at + `spec.template.spec.containers[0].env[0].name: Invalid value: "JOB_INDEX"`},
		"a variable of ours with another field": {
			plain(env(supervise.FromField("POD_UID", "metadata.name"))), at + "spec.template.spec.containers[0].env[0].name"},
		"a variable of ours from elsewhere": {
			plain(env(corev1.EnvVar{Name: "POD_UID", ValueFrom: &corev1.EnvVarSource{}})), at + "spec.template.spec.containers[0].env[0].name"},
		"the store's address": {
			plain(env(corev1.EnvVar{Name: "VALKEY_ADDRESS", Value: "mine:1"})), at + "spec.template.spec.containers[0].env[0].name"},
		"a variable of ours with our value":    {plain(env(identity("", nil)[0])), ""},
		"a variable of ours, from the label":   {plain(env(supervise.FromField("JOB_INDEX", "metadata.labels['jobset.sigs.k8s.io/job-index']"))), ""},
		"the sidecar has variables of its own": {plain(cri, env(corev1.EnvVar{Name: "JOB_INDEX", Value: "7"})), ""},
		"a volume of our name": {
			plain(pod(func(p *corev1.PodSpec) { p.Volumes = []corev1.Volume{{Name: supervise.StartupVolume}} })), at + "spec.template.spec.volumes[0].name: Duplicate value"},
		"an init container of our name": {
			plain(pod(func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{{Name: supervise.InstallerName}} })), at + "spec.template.spec.initContainers[0].name: Duplicate value"},
		"our folder":                          {plain(mount(supervise.StartupDir)), at + "spec.template.spec.containers[0].volumeMounts[0].mountPath: Duplicate value"},
		"our credentials":                     {plain(mount(supervise.CredentialsDir)), at + "spec.template.spec.containers[0].volumeMounts[0].mountPath: Duplicate value"},
		"another folder":                      {plain(mount("/data")), ""},
		"progress is requested":               {plain(on(v1alpha2.ProgressTimeoutKey, "2m"), on(v1alpha2.ProgressFromKey, "output")), ""},
		"progress is requested on the JobSet": {plain().Annotation(v1alpha2.ProgressTimeoutKey, "2m"), ""},
		"an invalid timeout for progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "soon")), at + `metadata.annotations[holdfast.dev/progress-timeout]: Invalid value: "soon"`},
		"a timeout for progress that is too short": {
			plain().Annotation(v1alpha2.ProgressTimeoutKey, "10ms"), `metadata.annotations[holdfast.dev/progress-timeout]: Invalid value: "10ms"`},
		"an empty timeout for progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "")), at + `metadata.annotations[holdfast.dev/progress-timeout]: Required value`},
		"an invalid timeout for the first progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "1m"), on(v1alpha2.ProgressStartTimeoutKey, "-1s")),
			at + `metadata.annotations[holdfast.dev/progress-start-timeout]: Invalid value: "-1s"`},
		"an unknown source of progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "1m"), on(v1alpha2.ProgressFromKey, "stars")),
			at + `metadata.annotations[holdfast.dev/progress-from]: Unsupported value: "stars": supported values: "file", "output"`},
		"progress by the output": {plain(on(v1alpha2.ProgressTimeoutKey, "1m"), on(v1alpha2.ProgressFromKey, "output")), ""},
		"progress by the output of a terminal": {
			plain(on(v1alpha2.ProgressTimeoutKey, "1m"), on(v1alpha2.ProgressFromKey, "output"), worker(func(c *corev1.Container) { c.TTY = true })),
			at + `metadata.annotations[holdfast.dev/progress-from]: Invalid value: "output": the worker has a terminal`},
		"a first progress without a next one": {
			plain(on(v1alpha2.ProgressStartTimeoutKey, "1m")), at + `metadata.annotations[holdfast.dev/progress-start-timeout]: Forbidden`},
		"progress alongside a sidecar": {
			plain(cri, on(v1alpha2.ProgressTimeoutKey, "1m")), at + `metadata.annotations[holdfast.dev/progress-timeout]: Forbidden: progress detection requires the exec driver`},
		"progress without a driver": {
			plain(on(v1alpha2.InPlaceDriverKey, "none"), on(v1alpha2.ProgressTimeoutKey, "1m")), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, problem := range Assess(c.js.Obj()).Problems {
				got = append(got, problem.Error())
			}
			if c.want == "" && len(got) == 0 {
				return
			}
			if len(got) != 1 || c.want == "" || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("problems %q, want one that begins with %q", got, c.want)
			}
		})
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	a := Assess(plain(job(func(j *batchv1.JobSpec) {
		j.PodFailurePolicy, j.BackoffLimitPerIndex = &batchv1.PodFailurePolicy{}, ptr.To[int32](1)
	}), worker(func(c *corev1.Container) { c.Command = nil })).Entry("other", 1).Obj())
	if len(a.Problems) != 4 {
		t.Errorf("%d problems, want 4: %v", len(a.Problems), a.Problems)
	}
}

func TestWarnings(t *testing.T) {
	const container = "spec.replicatedJobs[0].template.spec.template.spec.containers[0]."
	liveness := worker(func(c *corev1.Container) { c.LivenessProbe = &corev1.Probe{} })
	cases := map[string]struct {
		js   *JobSet
		want []string
	}{
		"a plain one":                   {plain(), nil},
		"a liveness probe":              {plain(liveness), []string{container + "livenessProbe: it may kill"}},
		"a startup probe":               {plain(worker(func(c *corev1.Container) { c.StartupProbe = &corev1.Probe{} })), []string{container + "startupProbe: it may kill"}},
		"a readiness probe":             {plain(worker(func(c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{} })), nil},
		"probes without the supervisor": {plain(liveness, on(v1alpha2.InPlaceDriverKey, "cri")), nil},
		"a success policy of the Job": {
			plain(job(func(j *batchv1.JobSpec) { j.SuccessPolicy = &batchv1.SuccessPolicy{} })), []string{"spec.replicatedJobs[0].template.spec.successPolicy: a worker that has finished is held"}},
		"an agent by hand": {plain(byHand), nil},
		"an agent by hand without its settings": {
			plain(byHand, job(func(j *batchv1.JobSpec) { j.BackoffLimit = nil }), pod(func(p *corev1.PodSpec) { p.RestartPolicy = corev1.RestartPolicyNever })),
			[]string{
				"spec.replicatedJobs[0].template.spec.backoffLimit: restarts in place count towards it; set 2147483647",
				"spec.replicatedJobs[0].template.spec.template.spec.restartPolicy: Never keeps workers from restarting in place; set OnFailure",
			}},
		"an agent by hand that may fail once": {
			plain(byHand, job(func(j *batchv1.JobSpec) { j.BackoffLimit = ptr.To[int32](1) })), []string{"spec.replicatedJobs[0].template.spec.backoffLimit"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Assess(c.js.Obj()).Warnings
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestDrivers(t *testing.T) {
	driver := func(value string) func(*rjob) { return on(v1alpha2.InPlaceDriverKey, value) }
	cases := map[string]struct {
		js   *JobSet
		want []Entry
	}{
		"exec by default":                    {plain(), []Entry{{Driver: Exec}}},
		"as set on the JobSet":               {plain().Annotation(v1alpha2.InPlaceDriverKey, "cri"), []Entry{{Driver: CRI}}},
		"the template takes precedence":      {plain(driver("none")).Annotation(v1alpha2.InPlaceDriverKey, "cri"), []Entry{{Driver: None}}},
		"an agent by hand is left unchanged": {plain(byHand, driver("exec")), []Entry{{Driver: None}}},
		"and so are pods alongside it":       {plain(byHand).Entry("driver", 1), []Entry{{Driver: None}, {Driver: None}}},
		"except for those that request it":   {plain(byHand).Entry("driver", 1, driver("cri")), []Entry{{Driver: None}, {Driver: CRI}}},
		"a worker that shows progress": {
			plain(on(v1alpha2.ProgressTimeoutKey, "90s")).Annotation(v1alpha2.ProgressStartTimeoutKey, "10m"),
			[]Entry{{Driver: Exec, Progress: Progress{Timeout: 90 * time.Second, Start: 10 * time.Minute, From: "file"}}}},
		"the container that is named": {
			plain(rich, on(v1alpha2.InPlaceContainerKey, "worker")), []Entry{{Driver: Exec, Container: 1}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Assess(c.js.Obj()).Entries); diff != "" {
				t.Error(diff)
			}
		})
	}
}
