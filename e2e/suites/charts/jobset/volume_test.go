//go:build e2e

package jobset

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

// storeVolume is the name of the store's PersistentVolume and of its storage class, which has no provisioner.
const storeVolume = "e2e-store"

// With a volume, a replaced store still has its groups and users. The incarnation of a group shows whether the group
// was kept or written again by the orchestrator.
func TestAStoreOnAVolumeKeepsItsGroups(t *testing.T) {
	c := start(t)
	c.volume(t.TempDir())
	persistent := values()
	persistent["valkey"].(helm.Values)["persistence"] = helm.Values{"enabled": true, "size": "64Mi", "storageClassName": storeVolume}
	c.must(c.release.Install(c.ctx, persistent))
	js, workers := c.startJobSet()
	c.signal(workers, 1, unix.SIGKILL)
	workers = c.awaitRestarted(js, workers)
	c.awaitRound(js, 1)
	before := c.summary(js)

	c.replaceStore()

	c.awaitRound(js, 1)
	if after := c.summary(js); after.Level.Incarnation != before.Level.Incarnation {
		c.Errorf("the incarnation of the group is %s, was %s", after.Level.Incarnation, before.Level.Incarnation)
	}
	c.checkUntouched(js, workers)
	c.signal(workers, 2, unix.SIGKILL)
	c.awaitRestarted(js, workers)
	c.awaitRound(js, 2)
}

// volume creates the store's PersistentVolume in a folder of the node, and removes it and its claim at the end of the
// test.
func (c *installation) volume(path string) {
	c.Helper()
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: storeVolume},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			StorageClassName:              storeVolume,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: framework.NodePool, Operator: corev1.NodeSelectorOpIn, Values: []string{"pool-1"}}},
			}}}},
		},
	}
	c.must(c.Client.Create(c.ctx, pv))
	c.Cleanup(func() {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data-" + fullname + "-valkey-0"}}
		ctx := context.Background() // the test's context is done
		c.must(c.release.Uninstall())
		c.must(c.Client.Delete(ctx, claim))
		c.must(c.Client.Delete(ctx, pv))
	})
}
