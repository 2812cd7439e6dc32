package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeName returns the name of node i, counted from 0. Its fixed width keeps the names in order.
func (o Options) nodeName(i int) string { return fmt.Sprintf("%s-%05d", o.Name, i+1) }

// pool returns the pool of node i. Pools are consecutive ranges of nodes whose sizes differ by at most one.
func (o Options) pool(i int) string {
	return fmt.Sprintf("%s-pool-%d", o.Name, i*o.Pools/max(o.Nodes, 1)+1)
}

// hostAddress returns an address of node i at which nothing listens.
func hostAddress(i int) string { return fmt.Sprintf("100.64.%d.%d", i/250, i%250+1) }

// podAddress returns the n-th pod address. Its range differs from that of the nodes.
func podAddress(n uint32) string {
	return fmt.Sprintf("100.%d.%d.%d", 96+n/(250*250)%32, n/250%250, n%250+1)
}

// node returns a node that is Ready as soon as it is created.
func (o Options) node(i int, now time.Time) *corev1.Node {
	name := o.nodeName(i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			TypeLabel: Type, NameLabel: o.Name, PoolLabel: o.pool(i),
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{Taint()}},
		Status: corev1.NodeStatus{
			Capacity:    o.capacity(),
			Allocatable: o.capacity(),
			Conditions:  readyConditions(now),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostAddress(i)}, {Type: corev1.NodeHostName, Address: name},
			},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: "v1.36.3-simulated", OperatingSystem: "linux", Architecture: "amd64",
			},
		},
	}
}

// Taint returns the taint that keeps pods away from simulated nodes unless they tolerate it.
func Taint() corev1.Taint {
	return corev1.Taint{Key: TaintKey, Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

// Toleration is what a pod needs to run on a simulated node.
func Toleration() corev1.Toleration {
	return corev1.Toleration{Key: TaintKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
}

func (o Options) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   *resource.NewQuantity(int64(o.MaxPods), resource.DecimalSI),
		GPU:                   *resource.NewQuantity(int64(o.GPUs), resource.DecimalSI),
	}
}

func readyConditions(now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}
