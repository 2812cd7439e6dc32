package appwrapper

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// appWrapperChanged reports whether an AppWrapper has something new to decide on. Messages are for people, and the entries of components
// are the controller's own notes: a write of either must not bring the next reconcile.
func appWrapperChanged(e event.UpdateEvent) bool {
	before, isOne := e.ObjectOld.(*v1beta2.AppWrapper)
	after, isOneToo := e.ObjectNew.(*v1beta2.AppWrapper)
	if !isOne || !isOneToo || before.UID != after.UID || before.Generation != after.Generation ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !slices.Equal(before.Finalizers, after.Finalizers) ||
		!maps.Equal(before.Annotations, after.Annotations) {
		return true
	}
	return !equality.Semantic.DeepEqual(decidesOn(&before.Status), decidesOn(&after.Status))
}

// decidesOn is the part of a status that decisions rest on.
func decidesOn(status *v1beta2.AppWrapperStatus) *v1beta2.AppWrapperStatus {
	status = status.DeepCopy()
	status.ComponentStatus = nil
	for i := range status.Conditions {
		status.Conditions[i].Message = ""
	}
	return status
}

// podHandler wakes the AppWrapper of a pod when something has changed that is looked at.
func podHandler() handler.EventHandler {
	wake := func(object client.Object, q queue) {
		name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[v1beta2.AppWrapperLabel]}
		q.Add(reconcile.Request{NamespacedName: name})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(e.Object, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, isPod := e.ObjectOld.(*corev1.Pod)
			after, isPodToo := e.ObjectNew.(*corev1.Pod)
			if !isPod || !isPodToo || podChanged(before, after) {
				wake(e.ObjectNew, q)
			}
		},
	}
}

func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Status.Phase != after.Status.Phase || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !slices.Equal(before.Finalizers, after.Finalizers) ||
		unhealthyDevices(before) != unhealthyDevices(after)
}

func unhealthyDevices(pod *corev1.Pod) int {
	n := 0
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, container := range list {
			for _, r := range container.AllocatedResourcesStatus {
				for _, device := range r.Resources {
					if device.Health == corev1.ResourceHealthStatusUnhealthy {
						n++
					}
				}
			}
		}
	}
	return n
}
