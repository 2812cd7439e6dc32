// Package wrappers builds AppWrappers for tests: MakeAppWrapper("a").Job("b", 2).Obj().
package wrappers

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// AppWrapper builds a v1beta2.AppWrapper.
type AppWrapper struct{ v1beta2.AppWrapper }

// MakeAppWrapper returns an AppWrapper without components in namespace "default".
func MakeAppWrapper(name string) *AppWrapper {
	return &AppWrapper{v1beta2.AppWrapper{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "-uid")}}}
}

// Obj returns the AppWrapper.
func (w *AppWrapper) Obj() *v1beta2.AppWrapper { return &w.AppWrapper }

// Namespace sets the namespace and clears the UID, which the API server sets.
func (w *AppWrapper) Namespace(ns string) *AppWrapper {
	w.AppWrapper.Namespace, w.UID = ns, ""
	return w
}

// Annotation sets an annotation.
func (w *AppWrapper) Annotation(key, value string) *AppWrapper {
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, key, value)
	return w
}

// Suspend sets spec.suspend.
func (w *AppWrapper) Suspend(to bool) *AppWrapper {
	w.Spec.Suspend = to
	return w
}

// Component adds an object, given in YAML, and its declared pod sets.
func (w *AppWrapper) Component(object string, sets ...v1beta2.AppWrapperPodSet) *AppWrapper {
	raw, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		panic(err)
	}
	// Sort the keys as the API server does.
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		panic(err)
	}
	if raw, err = json.Marshal(fields); err != nil {
		panic(err)
	}
	w.Spec.Components = append(w.Spec.Components, v1beta2.AppWrapperComponent{Template: runtime.RawExtension{Raw: raw}, DeclaredPodSets: sets})
	return w
}

// Job adds a Job with the given number of pods as both parallelism and completions.
func (w *AppWrapper) Job(name string, pods int) *AppWrapper {
	return w.Component(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec: {parallelism: %d, completions: %d, template: {spec: %s}}`, name, pods, pods, podSpec))
}

// Pod adds a Pod.
func (w *AppWrapper) Pod(name string) *AppWrapper {
	return w.Component(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: %s}`, name, podSpec))
}

// GPUJob adds a Job of one pod that requests a GPU.
func (w *AppWrapper) GPUJob(name string) *AppWrapper {
	return w.Component(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: worker-image, resources: {limits: {nvidia.com/gpu: 1}}}]}}}`, name))
}

// Service adds a Service, which has no pods.
func (w *AppWrapper) Service(name string) *AppWrapper {
	return w.Component(fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {clusterIP: None, selector: {a: b}}}`, name))
}

const podSpec = `{restartPolicy: Never, containers: [{name: worker, image: worker-image}]}`

// Phase sets the phase, as if an earlier controller had written it.
func (w *AppWrapper) Phase(phase v1beta2.AppWrapperPhase) *AppWrapper {
	w.Status.Phase = phase
	return w
}

// Change applies any other change.
func (w *AppWrapper) Change(change func(*v1beta2.AppWrapper)) *AppWrapper {
	change(&w.AppWrapper)
	return w
}
