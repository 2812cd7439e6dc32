//go:build e2e

package rescheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/deviceplugin"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// bench is the namespace of a test.
type bench struct{ *suites.Namespace }

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{suites.NewNamespace(t, k8s, "e2e-rescheduler-")}
	b.State = func() string { return suites.State(context.Background(), k8s, b.NS) }
	return b
}

func (b *bench) pods() []corev1.Pod {
	b.Helper()
	var list corev1.PodList
	b.Until("the pods are listed", func(ctx context.Context) error { return k8s.List(ctx, &list, client.InNamespace(b.NS)) })
	return list.Items
}

func real(node string) bool { return node != "" && !strings.HasPrefix(node, "other-") }

// elsewhere waits until n pods run on simulated nodes, and returns how many pods are on the real one.
func (b *bench) elsewhere(n int) (failed int) {
	b.Helper()
	b.Until(fmt.Sprintf("%d pods run on other nodes", n), func(context.Context) error {
		running := 0
		failed = 0
		for _, pod := range b.pods() {
			switch {
			case real(pod.Spec.NodeName):
				failed++
			case pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil:
				running++
			}
		}
		if running != n {
			return fmt.Errorf("%d are running there", running)
		}
		return nil
	})
	return failed
}

func (b *bench) remembers(o client.Object, times int, class string) {
	b.Helper()
	b.Until("the move is recorded on the workload", func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		m := memory.Read(o.GetAnnotations())
		if m.Times != times || len(m.Entries) == 0 || m.Entries[0].Class != class || !real(m.Entries[0].Node) {
			return fmt.Errorf("the record is %+v", m)
		}
		return nil
	})
}

// said waits for an event with the reason and the text in its note.
func (b *bench) said(reason, text string) {
	b.Helper()
	b.Until("there is an event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := k8s.List(ctx, &list, client.InNamespace(b.NS)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("none of %d events matches", len(list.Items))
	})
}

func (b *bench) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: b.NS, Annotations: map[string]string{memory.RetriesAnnotation: "3"}}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "w"}}

// worker returns a pod template that prefers the real node.
func worker(changes ...func(*corev1.PodSpec)) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "w"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Tolerations:                   []corev1.Toleration{kubelet.Toleration()},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: kubelet.TypeLabel, Operator: corev1.NodeSelectorOpDoesNotExist}},
				}}},
			}},
			Containers: []corev1.Container{{Name: "worker", Image: workerImage, ImagePullPolicy: corev1.PullIfNotPresent}},
		},
	}
	for _, change := range changes {
		change(&template.Spec)
	}
	return template
}

// outOfMemory makes the worker exceed its memory limit, so that on the real node its container is killed repeatedly.
func outOfMemory(spec *corev1.PodSpec) {
	c := &spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "WORKER_MEMORY_MIB", Value: "256"}}
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
}

// forbidden requests a sysctl that the real kubelet does not allow, so that it rejects the pod.
func forbidden(spec *corev1.PodSpec) {
	spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}}
}

// oneDevice requests a device, which simulated nodes always have, but the real node has only in some tests.
func oneDevice(spec *corev1.PodSpec) {
	spec.Containers[0].Resources.Limits = corev1.ResourceList{kubelet.GPU: resource.MustParse("1")}
}

// offerBrokenDevices makes the real node advertise devices that cannot be allocated, until the test ends.
func (b *bench) offerBrokenDevices(n int) {
	b.Helper()
	folder, err := shared.Cluster.DevicePlugins(1)
	b.OK(err)
	plugin := &deviceplugin.Plugin{Resource: string(kubelet.GPU), Number: n, Refuse: errors.New("the device does not answer")}
	stop, err := plugin.Serve(b.Context(), folder)
	b.OK(err)
	b.Cleanup(stop)
	b.Until("the node offers the devices", func(ctx context.Context) error {
		var node corev1.Node
		err := k8s.Get(ctx, client.ObjectKey{Name: shared.Cluster.NodeNames()[0]}, &node)
		if has := node.Status.Allocatable[kubelet.GPU]; err == nil && has.Value() != int64(n) {
			err = fmt.Errorf("it offers %s", has.String())
		}
		return err
	})
}

func byPlugin(spec *corev1.PodSpec) { spec.SchedulerName = "holdfast-scheduler" }
