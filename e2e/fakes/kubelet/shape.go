package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// SucceedAfter is an annotation of pods. Their containers exit with 0 after they have run that long, such as "30s".
const SucceedAfter = "simulated.holdfast.dev/succeed-after"

// Shape is the part of a pod that determines its life.
type Shape struct {
	Containers []ContainerShape
	// SucceedAfter is how long containers other than sidecars run before they succeed; zero means that they keep
	// running.
	SucceedAfter time.Duration
}

// ContainerShape is one container.
type ContainerShape struct {
	Name   string
	Policy corev1.RestartPolicy
	// Sidecar marks a restartable init container. It ends when the other containers have ended.
	Sidecar bool
}

// ShapeOf returns the shape of a pod. Init containers other than sidecars take no time and are left out. It returns an
// error if the annotation is not a duration.
func ShapeOf(pod *corev1.Pod) (Shape, error) {
	var shape Shape
	for _, c := range pod.Spec.InitContainers {
		if isSidecar(c) {
			shape.Containers = append(shape.Containers, ContainerShape{
				Name: c.Name, Policy: corev1.RestartPolicyAlways, Sidecar: true,
			})
		}
	}
	for _, c := range pod.Spec.Containers {
		shape.Containers = append(shape.Containers, ContainerShape{Name: c.Name, Policy: pod.Spec.RestartPolicy})
	}
	value, annotated := pod.Annotations[SucceedAfter]
	if !annotated {
		return shape, nil
	}
	after, err := time.ParseDuration(value)
	if err != nil {
		return shape, fmt.Errorf("annotation %s: %w", SucceedAfter, err)
	}
	shape.SucceedAfter = after
	return shape, nil
}

func isSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
