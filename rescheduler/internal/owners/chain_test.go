package owners

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

func owner(kind, retries string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "x/v1", Kind: kind}}
	o.Name = strings.ToLower(kind)
	if retries != "" {
		o.Annotations = map[string]string{memory.RetriesAnnotation: retries}
	}
	return o
}

func TestRetriesComeFromNearestOwner(t *testing.T) {
	for name, c := range map[string]struct {
		chain   Chain
		want    int
		asked   bool
		problem bool
	}{
		"no owners":                         {Chain{}, 0, false, false},
		"single owner":                      {Chain{owner("Job", "2")}, 2, true, false},
		"root owner":                        {Chain{owner("Job", ""), owner("JobSet", "3")}, 3, true, false},
		"nearest owner":                     {Chain{owner("Job", "2"), owner("JobSet", "3")}, 2, true, false},
		"invalid value":                     {Chain{owner("Job", "x")}, 0, false, true},
		"next owner after an invalid value": {Chain{owner("Job", "x"), owner("JobSet", "3")}, 3, true, true},
		"ReplicaSet without Deployment":     {Chain{owner("ReplicaSet", "2")}, 2, true, false},
		"annotation copied to a ReplicaSet": {Chain{owner("ReplicaSet", "2"), owner("Deployment", "")}, 0, false, false},
		"outdated copy on a ReplicaSet":     {Chain{owner("ReplicaSet", "2"), owner("Deployment", "5")}, 5, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, asked, problem := c.chain.Retries()
			if got != c.want || asked != c.asked || (problem != nil) != c.problem {
				t.Errorf("got %d, %t, %v", got, asked, problem)
			}
		})
	}
}

func TestSlot(t *testing.T) {
	pod := func(kind, name string, labels, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Other"}, {Kind: kind, Name: "owner", Controller: ptr.To(true)}},
		}}
	}
	of := func(group string, pod *corev1.Pod) *corev1.Pod { pod.OwnerReferences[1].APIVersion = group; return pod }
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"pod of a StatefulSet":         {pod("StatefulSet", "web-0", nil, nil), "web-0"},
		"pod of a Deployment":          {pod("ReplicaSet", "web-x", nil, nil), ""},
		"pod of an Indexed Job":        {pod("Job", "j-3-x", map[string]string{batchv1.JobNameLabel: "j"}, map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}), "j/3"},
		"index as a label":             {pod("Job", "j-3-x", map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}, nil), "owner/3"},
		"pod of a Job without indexes": {pod("Job", "j-x", map[string]string{batchv1.JobNameLabel: "j"}, nil), ""},
		"index that is not a number":   {pod("Job", "j-x", nil, map[string]string{batchv1.JobCompletionIndexAnnotation: "a/b"}), ""},
		"pod of an ElasticJob":         {of("elastic.pytorch.org/v1alpha1", pod("ElasticJob", "train-worker-3", nil, nil)), "train-worker-3"},
		"pod of a PyTorchJob":          {of("kubeflow.org/v1", pod("PyTorchJob", "train-master-0", nil, nil)), "train-master-0"},
		"pod of a Workflow":            {of("argoproj.io/v1alpha1", pod("Workflow", "flow-x", nil, nil)), ""},
		"pod without owner":            {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Slot(c.pod); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestLedgerIsAheadOfCache(t *testing.T) {
	l := NewLedger()
	at := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: version}}
	}
	l.Wrote(at("10"))
	for version, want := range map[string]string{"9": "10", "10": "10", "11": "11", "100": "100"} {
		if got := l.Latest(at(version)).ResourceVersion; got != want {
			t.Errorf("cached %s: %s, want %s", version, got, want)
		}
	}
}

// A failing workload must not block the controller's workers. TryLock returns immediately if the workload is locked, and the pod is woken
// when the lock is released.
func TestLedgerLocksWorkload(t *testing.T) {
	l, pod := NewLedger(), types.NamespacedName{Namespace: "default", Name: "p"}
	unlock, locked := l.TryLock("u", types.NamespacedName{})
	if !locked {
		t.Fatal("it is not locked")
	}
	for range 2 * maxWaiting {
		if _, locked := l.TryLock("u", pod); locked {
			t.Fatal("locked twice")
		}
	}
	other, locked := l.TryLock("other", pod)
	if !locked {
		t.Error("another workload is locked, too")
	}
	if woken := other(); len(woken) != 0 {
		t.Errorf("no pod waited for the other workload, but %v were enqueued", woken)
	}
	if woken := unlock(); len(woken) != 1 || woken[0] != pod {
		t.Errorf("enqueued: %v", woken)
	}
	if _, locked := l.TryLock("u", pod); !locked {
		t.Error("it is still locked")
	}
}
