package framework

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	fieldManager = "holdfast-e2e"
	// NodePool is the node label that the examples select. Its value is nodePoolValue.
	NodePool      = "cloud.google.com/gke-nodepool"
	nodePoolValue = "pool-1"
)

// Apply applies a manifest as `kubectl apply --server-side` does. Objects that do not specify a namespace are created in `namespace`.
func (env *Environment) Apply(ctx context.Context, namespace, file string) error {
	return env.applySome(ctx, namespace, file, func(*unstructured.Unstructured) bool { return true })
}

// applySome applies the objects of a manifest for which wanted returns true.
func (env *Environment) applySome(ctx context.Context, namespace, file string, wanted func(*unstructured.Unstructured) bool) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading a manifest: %w", err)
	}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		obj := &unstructured.Unstructured{}
		err := documents.Decode(obj)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && wanted(obj) {
			err = env.applyOne(ctx, namespace, obj)
		}
		if err != nil {
			return fmt.Errorf("applying %s: %w", filepath.Base(file), err)
		}
	}
}

func (env *Environment) applyOne(ctx context.Context, namespace string, obj *unstructured.Unstructured) error {
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	return env.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj),
		client.FieldOwner(fieldManager), client.ForceOwnership)
}

// Load reads a JobSet from a manifest, so that a test can modify it before creating it.
func (env *Environment) Load(namespace, file string) (*v1alpha2.JobSet, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	js := &v1alpha2.JobSet{}
	if err := yaml.UnmarshalStrict(content, js); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	js.Namespace = namespace
	return js, nil
}

// Namespace creates a namespace if it does not exist.
func (env *Environment) Namespace(ctx context.Context, name string) error {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(name)
	return env.applyOne(ctx, "", ns)
}

// Remove deletes a JobSet and returns once the JobSet and all its pods are gone. A missing JobSet is not an
// error.
func (env *Environment) Remove(ctx context.Context, namespace, name string) error {
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := env.Client.Delete(ctx, js, client.PropagationPolicy(metav1.DeletePropagationForeground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting JobSet %s: %w", name, err)
	}
	return Until(ctx, "JobSet "+name+" and its pods are gone", func(ctx context.Context) error {
		pods, err := env.Pods(ctx, namespace, name)
		if err == nil && len(pods) > 0 {
			return fmt.Errorf("%d pods still exist", len(pods))
		}
		if getErr := env.Client.Get(ctx, client.ObjectKeyFromObject(js), js); client.IgnoreNotFound(getErr) != nil || getErr == nil {
			return errors.New("the JobSet still exists")
		}
		return err
	})
}

// LabelNode labels the first node as part of the pool that the examples select.
func (env *Environment) LabelNode(ctx context.Context) error {
	node := &corev1.Node{}
	if err := env.Client.Get(ctx, client.ObjectKey{Name: env.Cluster.NodeNames()[0]}, node); err != nil {
		return fmt.Errorf("labelling the node: %w", err)
	}
	patch := client.MergeFrom(node.DeepCopy())
	node.Labels[NodePool] = nodePoolValue
	return env.Client.Patch(ctx, node, patch)
}
