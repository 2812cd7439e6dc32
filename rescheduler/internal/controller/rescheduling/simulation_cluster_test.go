package rescheduling

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
)

// simCluster simulates the API server: pods, nodes and owners in memory. It implements the part of client.Client that the
// controller uses. The fake client of controller-runtime is so slow that a simulated day would take minutes.
type simCluster struct {
	client.Client // panics on anything that the simulation does not implement

	rand    *rand.Rand
	now     time.Time
	version int
	nodes   []*corev1.Node
	pods    map[string]*corev1.Pod
	owners  map[types.UID]*metav1.PartialObjectMetadata
	// evicted is called after the API server has accepted an eviction.
	evicted func(*corev1.Pod)
}

func newSimCluster(seed int64, nodes int) *simCluster {
	c := &simCluster{
		rand: rand.New(rand.NewSource(seed)), now: noon, pods: map[string]*corev1.Pod{}, owners: map[types.UID]*metav1.PartialObjectMetadata{},
	}
	for i := range nodes {
		c.nodes = append(c.nodes, ready(fmt.Sprint("n", i)))
	}
	return c
}

// Of implements chains: in the simulation every pod is owned directly by its root.
func (c *simCluster) Of(_ context.Context, pod metav1.Object) (owners.Chain, error) {
	if owner := c.owners[owners.ControllerUID(pod)]; owner != nil {
		return owners.Chain{owner.DeepCopy()}, nil
	}
	return nil, nil
}

func (c *simCluster) nextVersion() string {
	c.version++
	return strconv.Itoa(c.version)
}

func (c *simCluster) node(name string) *corev1.Node {
	for _, node := range c.nodes {
		if node.Name == name {
			return node
		}
	}
	return nil
}

// sorted returns the pods sorted by name, so that a seed always produces the same result.
func (c *simCluster) sorted() []*corev1.Pod {
	var all []*corev1.Pod
	for _, pod := range c.pods {
		all = append(all, pod)
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, name)
}

func (c *simCluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *corev1.Node:
		if node := c.node(key.Name); node != nil {
			node.DeepCopyInto(o)
			return nil
		}
	case *corev1.Pod:
		if pod := c.pods[key.Name]; pod != nil {
			pod.DeepCopyInto(o)
			return nil
		}
	}
	return notFound(key.Name)
}

func (c *simCluster) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	switch l := list.(type) {
	case *corev1.NodeList:
		for _, node := range c.nodes {
			l.Items = append(l.Items, *node)
		}
	case *corev1.PodList:
		for _, pod := range c.sorted() {
			if options.FieldSelector != nil {
				owner, byOwner := options.FieldSelector.RequiresExactMatch(ownerIndex)
				node, byNode := options.FieldSelector.RequiresExactMatch("spec.nodeName")
				if byOwner && string(owners.ControllerUID(pod)) != owner || byNode && pod.Spec.NodeName != node {
					continue
				}
			}
			l.Items = append(l.Items, *pod)
		}
	}
	return nil
}

func (c *simCluster) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if node, ok := o.(*corev1.Node); ok {
		*c.node(node.Name) = *node.DeepCopy()
		return nil
	}
	var there metav1.Object
	if owner := c.owners[o.GetUID()]; owner != nil {
		there = owner
	} else if pod := c.pods[o.GetName()]; pod != nil && pod.UID == o.GetUID() {
		there = pod
	} else {
		return notFound(o.GetName())
	}
	if there.GetResourceVersion() != o.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), fmt.Errorf("stale"))
	}
	o.SetResourceVersion(c.nextVersion())
	there.SetResourceVersion(o.GetResourceVersion())
	there.SetAnnotations(o.GetAnnotations())
	return nil
}

func (c *simCluster) remove(o client.Object, preconditions *metav1.Preconditions) error {
	pod := c.pods[o.GetName()]
	if pod == nil {
		return notFound(o.GetName())
	}
	if preconditions == nil || preconditions.UID == nil || *preconditions.UID != pod.UID {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), fmt.Errorf("another UID"))
	}
	delete(c.pods, pod.Name)
	c.evicted(pod)
	return nil
}

func (c *simCluster) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	return c.remove(o, options.Preconditions)
}

func (c *simCluster) SubResource(string) client.SubResourceClient { return simEviction{cluster: c} }

type simEviction struct {
	client.SubResourceClient
	cluster *simCluster
}

func (e simEviction) Create(_ context.Context, o client.Object, eviction client.Object, _ ...client.SubResourceCreateOption) error {
	return e.cluster.remove(o, eviction.(*policyv1.Eviction).DeleteOptions.Preconditions)
}

func schemaKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}
