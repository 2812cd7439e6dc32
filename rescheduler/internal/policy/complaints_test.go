package policy

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

var blameRules = settings.Blame{
	Threshold: 6, Window: metav1.Duration{Duration: 10 * time.Minute}, MinPods: 3, MinWorkloads: 2, MaxNodes: 3, MaxShare: 5,
}

type complaintOf struct {
	pod, workload string
	weight        int
	at            time.Duration
}

func TestComplaintsSuffice(t *testing.T) {
	for name, c := range map[string]struct {
		said []complaintOf
		want bool
	}{
		"no complaint":                       {nil, false},
		"three pods of two workloads":        {[]complaintOf{{"1", "w", 3, 0}, {"2", "w", 3, 0}, {"3", "x", 3, 0}}, true},
		"three pods of one workload":         {[]complaintOf{{"1", "w", 3, 0}, {"2", "w", 3, 0}, {"3", "w", 3, 0}}, false},
		"two pods with high weight":          {[]complaintOf{{"1", "w", 9, 0}, {"2", "x", 9, 0}}, false},
		"three pods with low weight":         {[]complaintOf{{"1", "w", 1, 0}, {"2", "w", 1, 0}, {"3", "x", 1, 0}}, false},
		"one pod that complains three times": {[]complaintOf{{"1", "w", 3, 0}, {"1", "x", 3, 0}, {"1", "y", 3, 0}}, false},
		"old complaints":                     {[]complaintOf{{"1", "w", 3, -10 * time.Minute}, {"2", "w", 3, 0}, {"3", "x", 3, 0}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewComplaints(blameRules)
			for _, s := range c.said {
				b.Add("a", s.pod, s.workload, s.weight, noon.Add(s.at))
			}
			if got := b.Suffice("a", noon); got != c.want {
				t.Errorf("got %t", got)
			}
			if b.Suffice("b", noon) {
				t.Error("the complaints also count against another node")
			}
			if b.Clear("a"); b.Suffice("a", noon) {
				t.Error("the complaints still count after they were cleared")
			}
		})
	}
}

func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		tainted, nodes int
		want           bool
	}{
		"first node of a small cluster":                {0, 2, true},
		"second node of a small cluster":               {1, 2, false},
		"within the maximum share":                     {1, 40, true},
		"beyond the maximum share":                     {2, 40, false},
		"beyond the maximum number in a large cluster": {3, 10000, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NewComplaints(blameRules).MayTaint(c.tainted, c.nodes); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestComplaintsAreLimited(t *testing.T) {
	b := NewComplaints(blameRules)
	for i := range 10 * maxComplaints {
		b.Add("a", fmt.Sprint(i), "w", 1, noon)
	}
	if n := len(b.byNode["a"]); n != maxComplaints {
		t.Errorf("%d complaints", n)
	}
}
