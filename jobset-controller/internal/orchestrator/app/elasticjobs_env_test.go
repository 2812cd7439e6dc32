//go:build envtest

package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// troupe is an ElasticJob. The test simulates its operator and kubelets. The supervisors, store and orchestrator are
// real, and the orchestrator has the permissions of its role.
type troupe struct {
	*guarded
	program string
	job     *unstructured.Unstructured
	secret  *corev1.Secret
	actors  map[string]*actor
	roster  roster.Roster
}

// actor is a supervisor, together with the file in which its worker logs its process ID on each start.
type actor struct {
	cmd    *exec.Cmd
	starts string
}

func newTroupe(t *testing.T) *troupe {
	k := &troupe{guarded: startGuarded(t, "--elasticjobs"), actors: map[string]*actor{}}
	k.roster = roster.Roster{Epoch: 1, Limit: 3, Timeout: time.Minute}
	k.program = k.file("holdfast-exec")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", k.program, "./cmd/holdfast-exec")
	build.Dir = "../../../../agent"
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the supervisor: %v\n%s", err, output)
	}
	return k
}

// define creates the CustomResourceDefinition of ElasticJobs.
func (k *troupe) define() {
	k.Helper()
	content, err := os.ReadFile("../../../../charts/elastic-operator/files/crds/elastic.pytorch.org_elasticjobs.yaml")
	k.must(err)
	definition := &unstructured.Unstructured{}
	k.must(yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096).Decode(definition))
	k.must(k.admin.Create(k.Context(), definition))
}

func (k *troupe) create() {
	k.Helper()
	k.job = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicaSpecs": map[string]any{"Worker": map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "worker", "image": "i"}}}},
	}}}}}
	k.job.SetGroupVersionKind(owners.ElasticJob)
	k.job.SetNamespace("default")
	k.job.SetName("train")
	k.job.SetAnnotations(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s"})
	k.eventually("the ElasticJob is created", func() error { return k.admin.Create(k.Context(), k.job) })
	k.eventually("its pods have a Secret", func() (err error) {
		k.secret, err = k.secretNamed("holdfast-elastic-store-train")
		return err
	})
	for _, name := range []string{"password", "ca.crt"} {
		k.must(os.WriteFile(k.file("agent-"+name), k.secret.Data[name], 0o600))
	}
}

// play starts the supervisor of a pod. Its worker does nothing.
func (k *troupe) play(member string) {
	k.Helper()
	_, pod, _ := roster.ParseMember(member)
	dir := k.TempDir()
	a := &actor{starts: filepath.Join(dir, "starts")}
	a.cmd = exec.Command(k.program, "--worker-jobset-uid="+string(k.job.GetUID()), "--worker-id="+roster.Slot(member), "--worker-pod-uid="+pod,
		"--worker-pod-epoch=1", "--valkey-address="+k.address, "--valkey-username="+string(k.secret.Data["username"]),
		"--valkey-password-file="+k.file("agent-password"), "--valkey-tls-ca-file="+k.file("agent-ca.crt"), "--startup-dir="+dir,
		"--", "sh", "-c", "echo $$ >> "+a.starts+"; exec sleep 1000")
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	k.must(a.cmd.Start())
	k.actors[member] = a
	k.Cleanup(func() { k.stop(member, syscall.SIGKILL) })
}

// stop sends a signal to a supervisor, waits for it to exit, and kills its last worker.
func (k *troupe) stop(member string, signal syscall.Signal) {
	a := k.actors[member]
	if a == nil {
		return
	}
	delete(k.actors, member)
	workers := a.workers()
	_ = a.cmd.Process.Signal(signal)
	_ = a.cmd.Wait()
	if n := len(workers); n > 0 {
		_ = syscall.Kill(workers[n-1], syscall.SIGKILL)
	}
}

// workers returns the process IDs of all workers that the supervisor has run, newest last.
func (a *actor) workers() []int {
	content, _ := os.ReadFile(a.starts) // the file does not exist before the first start
	var list []int
	for line := range strings.Lines(string(content)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// enlist writes the roster, as the operator does.
func (k *troupe) enlist(members ...string) {
	k.Helper()
	k.roster.Members = members
	change := &metav1.PartialObjectMetadata{}
	change.SetGroupVersionKind(owners.ElasticJob)
	k.must(k.admin.Get(k.Context(), client.ObjectKeyFromObject(k.job), change))
	before := change.DeepCopy()
	metav1.SetMetaDataAnnotation(&change.ObjectMeta, roster.Annotation, k.roster.Format())
	k.must(k.admin.Patch(k.Context(), change, client.MergeFrom(before)))
}

// await waits until the group is running and each worker has been started the given number of times.
func (k *troupe) await(what string, size, round int64, starts map[string]int) roster.Report {
	k.Helper()
	var report roster.Report
	k.eventually(what, func() error {
		job := &metav1.PartialObjectMetadata{}
		job.SetGroupVersionKind(owners.ElasticJob)
		k.must(k.admin.Get(k.Context(), client.ObjectKeyFromObject(k.job), job))
		r := roster.ReportOf(job.Annotations)
		if r == nil || r.Phase != coordination.Running || r.Size != size || r.Round != round {
			return fmt.Errorf("reported %+v", r)
		}
		for member, n := range starts {
			if got := len(k.actors[member].workers()); got != n {
				return fmt.Errorf("%s has been started %d times, not %d", member, got, n)
			}
		}
		report = *r
		return nil
	})
	return report
}

// ElasticJobs are managed once their CustomResourceDefinition is installed. JobSets are managed from the start.
func TestElasticJobs(t *testing.T) {
	k := newTroupe(t)
	k.createJobSet()
	k.eventually("a JobSet is led although there are no ElasticJobs", func() error { _, err := k.guarded.secret(); return err })
	k.define()
	k.create()

	w := make([]string, 5)
	for i := range w {
		w[i] = roster.Member(min(i, 3), fmt.Sprintf("0000000%d-aaaa-bbbb-cccc-dddddddddddd", i))
	}
	for _, member := range w[:3] {
		k.play(member)
	}
	k.enlist(w[:3]...)
	k.await("all start together", 3, 0, map[string]int{w[0]: 1, w[1]: 1, w[2]: 1})

	pids := k.actors[w[1]].workers()
	k.must(syscall.Kill(pids[0], syscall.SIGKILL))
	report := k.await("all restart", 3, 1, map[string]int{w[0]: 2, w[1]: 2, w[2]: 2})
	if len(report.Failures) != 1 || report.Failures[0].Member != w[1] || report.Failures[0].Code != 137 {
		t.Errorf("reported failures %+v", report.Failures)
	}

	k.play(w[3])
	k.enlist(w[:4]...)
	k.await("one more joins, and no worker is stopped for it", 4, 1, map[string]int{w[0]: 2, w[1]: 2, w[2]: 2, w[3]: 1})

	k.stop(w[3], syscall.SIGKILL) // along with its pod, without a report
	k.enlist(w[:3]...)
	k.await("the others restart once for a lost worker", 3, 2, map[string]int{w[0]: 3, w[1]: 3, w[2]: 3})
	k.play(w[4])
	k.enlist(w[0], w[1], w[2], w[4])
	k.await("and not again for its replacement", 4, 2, map[string]int{w[0]: 3, w[1]: 3, w[2]: 3, w[4]: 1})

	k.stop(w[2], syscall.SIGTERM) // along with its pod, with a report
	k.enlist(w[0], w[1], w[4])
	k.await("a deleted pod causes one restart", 3, 3, map[string]int{w[0]: 4, w[1]: 4, w[4]: 2})

	k.roster.Limit = 3 // no restarts are left
	worker := k.actors[w[4]].workers()
	k.must(syscall.Kill(worker[len(worker)-1], syscall.SIGKILL))
	k.eventually("the failure is reported, and no worker is stopped", func() error {
		job := &metav1.PartialObjectMetadata{}
		job.SetGroupVersionKind(owners.ElasticJob)
		k.must(k.admin.Get(t.Context(), client.ObjectKeyFromObject(k.job), job))
		r := roster.ReportOf(job.Annotations)
		if r == nil || r.Phase != coordination.Terminal || r.Failures[len(r.Failures)-1].Member != w[4] {
			return fmt.Errorf("reported %+v", r)
		}
		return nil
	})
	k.roster.Limit = 4
	k.enlist(w[0], w[1], w[4])
	k.await("all restart because of it", 3, 4, map[string]int{w[0]: 5, w[1]: 5, w[4]: 3})
}
