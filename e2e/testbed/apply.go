package testbed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// applyAll applies cluster-scoped objects, and waits until new kinds are served.
func (c *Cluster) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		resource := client.Resource(gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"))
		_, err := resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "holdfast-testbed", Force: true})
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", gvk.Kind, object.GetName(), err)
		}
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := awaitServed(ctx, client, object); err != nil {
			return err
		}
	}
	return nil
}

func awaitServed(ctx context.Context, client dynamic.Interface, crd *unstructured.Unstructured) error {
	resource := client.Resource(crd.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions"))
	err := poll(ctx, startTimeout, func(ctx context.Context) error {
		now, err := resource.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err == nil && !established(now) {
			err = errors.New("it is not established")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", crd.GetName(), err)
	}
	return nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

func (c *Cluster) dynamic() (dynamic.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}
