//go:build e2e

package jobset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/grouptest"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	orchestratorUser = "holdfast-orchestrator"
	userAnnotation   = "holdfast.dev/store-user"
	rotateAnnotation = "holdfast.dev/rotate-store-password"
)

// secret reads a Secret as an administrator.
func (c *installation) secret(namespace, name string) map[string][]byte {
	c.Helper()
	s := &corev1.Secret{}
	c.must(c.Client.Get(c.ctx, client.ObjectKey{Namespace: namespace, Name: name}, s))
	return s.Data
}

// agentsSecret returns the Secret that the orchestrator has created for a JobSet.
func (c *installation) agentsSecret(js *v1alpha2.JobSet) map[string][]byte {
	c.Helper()
	return c.secret(js.Namespace, "holdfast-store-"+js.Name)
}

// secrets returns the Secrets of the store as a string to compare.
func (c *installation) secrets() string {
	c.Helper()
	return fmt.Sprint(c.secret(namespace, fullname+"-valkey-password"), c.secret(namespace, fullname+"-valkey-tls"))
}

// store connects to the chart's store by the IP of its pod, because the host does not resolve names of the cluster.
func (c *installation) store(user string, secret map[string][]byte) *valkey.Store {
	c.Helper()
	dir := c.TempDir()
	password, ca := filepath.Join(dir, "password"), filepath.Join(dir, "ca.crt")
	c.must(os.WriteFile(password, secret["password"], 0o600))
	c.must(os.WriteFile(ca, c.secret(namespace, fullname+"-valkey-tls")["ca.crt"], 0o600))
	address := c.pod("valkey").Status.PodIP + ":6379"
	store, err := valkey.New(valkey.Options{
		Address: address, Username: user, PasswordFile: password, ClientName: "holdfast-e2e",
		TLS: valkey.TLSFiles{CA: ca, ServerName: fmt.Sprintf("valkey.%s.svc", namespace)},
	})
	c.must(err)
	return store
}

// asAgent connects to the store as a JobSet's agents do.
func (c *installation) asAgent(js *v1alpha2.JobSet) *valkey.Store {
	c.Helper()
	secret := c.agentsSecret(js)
	return c.store(string(secret["username"]), secret)
}

// startSupervised starts the example with one annotation in a namespace that accepts only restricted pods.
func (c *installation) startSupervised() *v1alpha2.JobSet {
	c.Helper()
	js, err := c.Load(restricted, c.File("examples", "one-annotation.yaml"))
	c.must(err)
	js.Name = supervised
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](2), ptr.To[int32](2)
	pod := &spec.Template.Spec
	pod.NodeSelector = map[string]string{framework.NodePool: "pool-1"}
	pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
	pod.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	c.must(c.Client.Create(c.ctx, js))
	_, err = c.AwaitWorkers(c.ctx, restricted, js.Name, 2)
	c.must(err)
	c.awaitRound(js, 0)
	return js
}

// killSupervised kills a worker, and returns once its group is in sync at the round in the same pods and containers.
func (c *installation) killSupervised(js *v1alpha2.JobSet, round int64) {
	c.Helper()
	before, err := c.AwaitWorkers(c.ctx, restricted, js.Name, 2)
	c.must(err)
	c.signal(before, 0, unix.SIGKILL)
	c.awaitRound(js, round)
	after, err := c.AwaitWorkers(c.ctx, restricted, js.Name, 2)
	c.must(err)
	for id, was := range before {
		if is := after[id]; is.ContainerID != was.ContainerID {
			c.Errorf("worker %s is %+v, was %+v", id, is, was)
		}
	}
}

// checkStrangers checks that one JobSet's agents can access their own group, but not the other JobSet's group.
func (c *installation) checkStrangers(stranger, js *v1alpha2.JobSet) {
	c.Helper()
	store := c.asAgent(stranger)
	defer store.Close()
	if err := store.Observe(c.ctx, string(stranger.UID), rounds.Slot{Name: firstWorker(stranger)}).Err; err != nil {
		c.Errorf("its own group: %v", err)
	}
	before := c.summary(js)
	report := rounds.Join(before.Level.Incarnation, 0, before.Round, before.Level.Entered, rounds.Member{
		Slot: rounds.Slot{Name: firstWorker(js), Pod: "forged"}, ID: "forged", Attempt: 1, Past: rounds.Past{Kind: rounds.PastNew},
	})
	_, _, joined := store.Call(c.ctx, string(js.UID), report)
	read := store.Observe(c.ctx, string(js.UID), rounds.Slot{Name: firstWorker(js)}).Err
	_, all := store.Tidy(c.ctx)
	for what, err := range map[string]error{"a forged report": joined, "a read of the other group": read, "a list of all groups": all} {
		if err == nil || !strings.Contains(err.Error(), "NOPERM") {
			c.Errorf("%s: %v, want NOPERM", what, err)
		}
	}
	if after := c.summary(js); after.Level != before.Level {
		c.Errorf("the other group is %+v, was %+v", after, before)
	}
	wrong := c.store(coordination.UserOf(string(js.UID)), c.agentsSecret(stranger))
	defer wrong.Close()
	if err := wrong.Observe(c.ctx, string(js.UID), rounds.Slot{Name: firstWorker(js)}).Err; err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		c.Errorf("the other user with its own password: %v, want WRONGPASS", err)
	}
}

// firstWorker returns the first slot of the JobSet.
func firstWorker(js *v1alpha2.JobSet) string { return js.Name + "-workers-0-0" }

func (c *installation) summary(js *v1alpha2.JobSet) framework.Summary {
	c.Helper()
	store := c.store(orchestratorUser, c.secret(namespace, fullname+"-valkey-password"))
	defer store.Close()
	sum, err := grouptest.Read(c.ctx, store, string(js.UID))
	c.must(err)
	return sum
}

// replaceStore deletes the store's pod, which has no volume. The new pod has neither users nor groups.
func (c *installation) replaceStore() {
	c.Helper()
	old := c.pod("valkey")
	c.must(c.Client.Delete(c.ctx, &old, client.GracePeriodSeconds(0)))
	c.must(framework.Until(c.ctx, "the store runs again", func(ctx context.Context) error {
		var list corev1.PodList
		if err := c.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": "valkey"}); err != nil {
			return err
		}
		for _, pod := range list.Items {
			if pod.UID != old.UID && pod.Status.PodIP != "" && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].Ready {
				return nil
			}
		}
		return errors.New("the store is not running")
	}))
}

// rotate requests a new password. It returns once the store accepts the password in the JobSet's Secret, and still
// accepts the old one.
func (c *installation) rotate(js *v1alpha2.JobSet) {
	c.Helper()
	before := c.agentsSecret(js)
	now, err := c.JobSet(c.ctx, js.Namespace, js.Name)
	c.must(err)
	next := now.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, rotateAnnotation, "1")
	c.must(c.Client.Patch(c.ctx, next, client.MergeFrom(now)))
	var after map[string][]byte
	c.must(framework.Until(c.ctx, "the Secret has another password", func(context.Context) error {
		if after = c.agentsSecret(js); string(after["password"]) == string(before["password"]) {
			return errors.New("it is the same")
		}
		return nil
	}))
	for name, secret := range map[string]map[string][]byte{"the old password": before, "the new password": after} {
		store := c.store(string(secret["username"]), secret)
		if err := store.Observe(c.ctx, string(js.UID), rounds.Slot{Name: firstWorker(js)}).Err; err != nil {
			c.Errorf("%s: %v", name, err)
		}
		_ = store.Close()
	}
	changed, err := c.JobSet(c.ctx, js.Namespace, js.Name)
	c.must(err)
	if strings.Contains(changed.Annotations[userAnnotation], string(after["password"])) {
		c.Error("the annotation contains the password")
	}
}
