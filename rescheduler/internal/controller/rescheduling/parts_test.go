package rescheduling

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNextName(t *testing.T) {
	for name, want := range map[string]string{
		"a":                               "a-r1",
		"a-r1":                            "a-r2",
		"a-r9":                            "a-r10",
		"a-rx":                            "a-rx-r1",
		"my-r2-d2":                        "my-r2-d2-r1",
		strings.Repeat("a", 253):          strings.Repeat("a", 250) + "-r1",
		strings.Repeat("a", 249) + "-b-x": strings.Repeat("a", 249) + "-r1",
	} {
		if got := nextName(name); got != want {
			t.Errorf("%s is followed by %s, want %s", name, got, want)
		}
	}
}

func TestSuccessorHasNoFieldsOfCluster(t *testing.T) {
	pod := pods.Make("p", noon).Change(func(p *corev1.Pod) {
		p.Annotations["theirs"] = "kept"
		p.ResourceVersion = "7"
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
	}).Obj()
	next := successor(pod, []string{"a"}, settings.Required)
	if next.Name != "p-r1" || next.UID != "" || next.ResourceVersion != "" || next.Spec.NodeName != "" || next.Status.Phase != "" {
		t.Errorf("got %+v", next.ObjectMeta)
	}
	if next.Spec.EphemeralContainers != nil {
		t.Errorf("ephemeral containers %v", next.Spec.EphemeralContainers)
	}
	if next.Annotations["theirs"] != "kept" || next.Annotations[SuccessorOf] != "uid-p" || next.Annotations[memory.HostsAnnotation] != `["a"]` {
		t.Errorf("annotations %v", next.Annotations)
	}
	if !placement.Avoids(next, []string{"a"}) || placement.Avoids(successor(pod, []string{"a"}, settings.Plugin), []string{"a"}) {
		t.Error("affinity does not follow the mode")
	}
}

func TestFirstObservationIsRemembered(t *testing.T) {
	d := &observationTimes{lru.New(noted)}
	d.since("p", "row", noon)
	if got := d.since("p", "row", noon.Add(time.Hour)); !got.Equal(noon) {
		t.Errorf("since %s", got)
	}
	d.Remove(observationKey{"p", "row"})
	if got := d.since("p", "row", noon.Add(time.Hour)); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("after it was healthy, since %s", got)
	}
}

func TestMovesOfHealthySlotAreReturned(t *testing.T) {
	period := settings.Default().Stabilization.Duration
	owes := memory.Memory{}.Charge(memory.Move{Slot: "w-0", Node: "a", Class: "c", At: noon}).Charge(memory.Move{Slot: "w-1", Node: "b", Class: "c", At: noon})
	fleet := memory.Memory{}.Charge(memory.Move{Node: "a", Class: "c", At: noon})
	set, replicas := workload("w"), workload("r")
	set.Kind, replicas.Kind = "StatefulSet", "ReplicaSet"
	since := func(name string, owner *metav1.PartialObjectMetadata, ready time.Time) *corev1.Pod {
		return pods.Make(name, noon.Add(-time.Hour)).Change(owned(owner)).Condition(corev1.PodReady, corev1.ConditionTrue, "", ready).Obj()
	}
	for name, c := range map[string]struct {
		pod    *corev1.Pod
		others []*corev1.Pod
		memory memory.Memory
		now    time.Time
		times  int
		after  time.Duration
	}{
		"healthy for long enough":            {since("w-0", set, noon.Add(time.Minute)), nil, owes, noon.Add(time.Minute + period), 1, 0},
		"healthy, but not for long enough":   {since("w-0", set, noon.Add(time.Minute)), nil, owes, noon.Add(period), 2, time.Minute},
		"another slot":                       {since("w-2", set, noon), nil, owes, noon.Add(10 * period), 2, 0},
		"healthy before the move only":       {since("w-0", set, noon.Add(-period)), nil, owes, noon.Add(time.Minute), 2, period - time.Minute},
		"not ready":                          {pods.Make("w-0", noon).Change(owned(set)).Obj(), nil, owes, noon.Add(10 * period), 2, 0},
		"no moves":                           {since("w-0", set, noon), nil, memory.Memory{Times: 2}, noon.Add(10 * period), 2, 0},
		"pods without identity, all healthy": {since("r-x", replicas, noon), []*corev1.Pod{since("r-y", replicas, noon)}, fleet, noon.Add(period), 0, 0},
		"pods without identity, one in a loop": {
			since("r-x", replicas, noon),
			[]*corev1.Pod{pods.Make("r-y", noon).Change(owned(replicas)).Again("Error", 1, 9, noon.Add(period)).Obj()}, fleet, noon.Add(period), 1, period},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{c.pod}
			for _, other := range c.others {
				objects = append(objects, other)
			}
			w := newWorld(t, settings.Default(), interceptor.Funcs{}, objects...)
			owner := set
			if owners.Slot(c.pod) == "" {
				owner = replicas
			}
			s := w.of(c.pod, owner)
			s.memory, s.now = c.memory, c.now
			m, after, err := w.returned(t.Context(), s)
			w.ok(err)
			if m.Times != c.times || after != c.after {
				t.Errorf("%d moves, requeued after %s", m.Times, after)
			}
		})
	}
}

func TestStrippedPodsKeepWhatDecisionsNeed(t *testing.T) {
	full := pods.Make("p", noon).Loops("OOMKilled", 137, 2, noon).Change(func(p *corev1.Pod) {
		p.Annotations = map[string]string{"big": strings.Repeat("x", 1000), memory.HostsAnnotation: `["a"]`, memory.RetriesAnnotation: "3"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{}}
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("1")}
		p.Spec.Containers[0].Resources.Limits = limits
		p.Spec.Resources = &corev1.ResourceRequirements{Limits: limits}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "JOBSET_UID", Value: "u"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "config"}, {Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = "long"
	}).Obj()
	slim := stripPod(full)
	if slim.UID != types.UID("uid-p") || len(slim.Annotations) != 2 || len(slim.Spec.Volumes) != 1 {
		t.Errorf("got %+v", slim.ObjectMeta)
	}
	if c := slim.Spec.Containers[0]; c.Image != "" || len(c.Env) != 1 || c.Env[0].Name != "JOBSET_UID" {
		t.Errorf("container %+v", c)
	}
	for _, limits := range []corev1.ResourceList{slim.Spec.Resources.Limits, slim.Spec.Containers[0].Resources.Limits} {
		if len(limits) != 1 || limits.Memory().IsZero() {
			t.Errorf("limits %v", limits)
		}
	}
	last := slim.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last.Reason != "OOMKilled" || last.Message != "" || full.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message == "" {
		t.Errorf("last termination %+v", last)
	}
}
