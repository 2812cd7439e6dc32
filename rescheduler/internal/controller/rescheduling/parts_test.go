package rescheduling

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
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

func TestASuccessorIsThePodWithoutWhatTheClusterWrote(t *testing.T) {
	pod := pods.Make("p", noon).Change(func(p *corev1.Pod) {
		p.Annotations["theirs"] = "kept"
		p.ResourceVersion = "7"
		p.Spec.Volumes = []corev1.Volume{{Name: "data"}, {Name: tokenVolume + "abc"}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}, {Name: tokenVolume + "abc"}}
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{}}
	}).Obj()
	next := successor(pod, []string{"a"}, settings.Required)
	if next.Name != "p-r1" || next.UID != "" || next.ResourceVersion != "" || next.Spec.NodeName != "" || next.Status.Phase != "" {
		t.Errorf("it is %+v", next.ObjectMeta)
	}
	if len(next.Spec.Volumes) != 1 || len(next.Spec.Containers[0].VolumeMounts) != 1 || next.Spec.EphemeralContainers != nil {
		t.Errorf("volumes %v, mounts %v", next.Spec.Volumes, next.Spec.Containers[0].VolumeMounts)
	}
	if next.Annotations["theirs"] != "kept" || next.Annotations[SuccessorOf] != "uid-p" || next.Annotations[memory.HostsAnnotation] != `["a"]` {
		t.Errorf("annotations %v", next.Annotations)
	}
	if !placement.Avoids(next, []string{"a"}) || placement.Avoids(successor(pod, []string{"a"}, settings.Plugin), []string{"a"}) {
		t.Error("affinity does not follow the mode")
	}
}

func TestTheDiaryRemembersSinceWhen(t *testing.T) {
	d := newDiary()
	d.since("p", "row", noon)
	if got := d.since("p", "row", noon.Add(time.Hour)); !got.Equal(noon) {
		t.Errorf("since %s", got)
	}
	d.well("p", []string{"row"})
	if got := d.since("p", "row", noon.Add(time.Hour)); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("after it was well, since %s", got)
	}
}

func TestAMoveIsGivenBack(t *testing.T) {
	r := &Reconciler{config: settings.Default()}
	failed := memory.Entry{Node: "a", Class: "c", Count: 1, Last: noon, Expires: noon.Add(time.Hour)}
	period := time.Duration(r.config.Stabilization)
	replacement := pods.Make("p", noon.Add(time.Second)).Condition(corev1.PodReady, corev1.ConditionTrue, "", noon.Add(time.Minute)).Obj()
	older := pods.Make("p", noon.Add(-time.Hour)).Condition(corev1.PodReady, corev1.ConditionTrue, "", noon.Add(-time.Hour)).Obj()
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		m     memory.Memory
		now   time.Time
		times int
		again bool
	}{
		"a replacement that has run for long":  {replacement, memory.Memory{Times: 2, Entries: []memory.Entry{failed}}, noon.Add(time.Minute + period), 1, true},
		"one that has run for a moment":        {replacement, memory.Memory{Times: 2, Entries: []memory.Entry{failed}}, noon.Add(2 * time.Minute), 2, true},
		"once in a period":                     {replacement, memory.Memory{Times: 2, Restored: noon.Add(period)}, noon.Add(period + time.Minute), 2, true},
		"a while after the moves were used up": {older, memory.Memory{Times: 2}.Exhaust(noon), noon.Add(time.Minute), 2, true},
		"a pod that was there before":          {older, memory.Memory{Times: 2, Entries: []memory.Entry{failed}}, noon.Add(10 * period), 2, false},
		"a pod that is not ready":              {pods.Make("p", noon).Obj(), memory.Memory{Times: 2}, noon.Add(10 * period), 2, false},
		"nothing to give back":                 {replacement, memory.Memory{}, noon.Add(10 * period), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, after := r.restored(&scope{pod: c.pod, memory: c.m, now: c.now})
			if m.Times != c.times || (after > 0) != c.again {
				t.Errorf("%d moves, again after %s", m.Times, after)
			}
		})
	}
}

func TestWhatIsPublishedForThePolicy(t *testing.T) {
	entry := func(node, slot string) memory.Entry {
		return memory.Entry{Node: node, Slot: slot, Class: "c", Last: noon, Expires: noon.Add(time.Hour)}
	}
	s := &scope{now: noon, memory: memory.Memory{Entries: []memory.Entry{entry("a", ""), entry("b", "web-0"), entry("c", "job/7"), entry("d", "no key!")}}}
	got := published("uid", s)
	want := map[string]string{"uid": `["a"]`, "uid.web-0": `["a","b"]`, "uid.7": `["a","c"]`}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %s, want %s", key, got[key], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

func TestStrippedPodsKeepWhatDecisionsNeed(t *testing.T) {
	full := pods.Make("p", noon).Loops("OOMKilled", 137, 2, noon).Change(func(p *corev1.Pod) {
		p.Annotations = map[string]string{"big": strings.Repeat("x", 1000), memory.HostsAnnotation: `["a"]`, memory.RetriesAnnotation: "3"}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{}}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "JOBSET_UID", Value: "u"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "config"}, {Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message = "long"
	}).Obj()
	o, err := stripPod(full)
	if err != nil {
		t.Fatal(err)
	}
	slim := o.(*corev1.Pod)
	if slim.UID != types.UID("uid-p") || len(slim.Annotations) != 2 || slim.ManagedFields != nil || len(slim.Spec.Volumes) != 1 {
		t.Errorf("got %+v", slim.ObjectMeta)
	}
	if c := slim.Spec.Containers[0]; c.Image != "" || len(c.Env) != 1 || c.Env[0].Name != "JOBSET_UID" {
		t.Errorf("container %+v", c)
	}
	last := slim.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last.Reason != "OOMKilled" || last.Message != "" || full.Status.ContainerStatuses[0].LastTerminationState.Terminated.Message == "" {
		t.Errorf("its end %+v", last)
	}
}

func TestCut(t *testing.T) {
	if got := cut("ää", 3); got != "ä" || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}
