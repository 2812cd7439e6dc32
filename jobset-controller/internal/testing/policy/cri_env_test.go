//go:build envtest

package policy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

const policies = "../../../../charts/jobset-controller/files/policy/cri-driver.yaml"

// folders must match the chart's list. A chart test compares them.
const folders = "/run/containerd,/var/run/containerd,/run/crio,/var/run/crio,/run/k3s,/var/run/k3s,/run/cri-dockerd.sock,/var/run/cri-dockerd.sock,/run/docker.sock,/var/run/docker.sock,/run/k0s,/var/run/k0s,/var/snap/microk8s/common/run,/proc"

// cluster is an API server on which the policies are in effect. Namespace "listed" is allowed, "other" is not.
type cluster struct {
	*testing.T
	client.Client
}

func start(t *testing.T, allPods string) *cluster {
	t.Helper()
	c := &cluster{T: t}
	_, c.Client = apiserver.ForTest(t, sandbox.Scheme(v1alpha2.AddToScheme), "../../../../charts/jobset-controller/files/crds")
	for _, name := range []string{"listed", "also-listed", "other"} {
		c.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c.make(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "parameters"},
		Data:       map[string]string{"namespaces": "listed,also-listed", "allPods": allPods, "folders": folders},
	})
	c.enforce()
	return c
}

func (c *cluster) make(obj client.Object) {
	c.Helper()
	if err := c.Create(c.Context(), obj); err != nil {
		c.Fatal(err)
	}
}

// enforce applies both policies and waits until the API server enforces them.
func (c *cluster) enforce() {
	c.Helper()
	content, err := os.ReadFile(policies)
	if err != nil {
		c.Fatal(err)
	}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		if err := documents.Decode(policy); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			c.Fatal(err)
		}
		c.make(policy)
		c.make(&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				ParamRef: &admissionv1.ParamRef{Namespace: "default", Name: "parameters", ParameterNotFoundAction: ptr.To(admissionv1.DenyAction)},
			},
		})
	}
	for _, probe := range []client.Object{pod("other", "/run/containerd/containerd.sock"), jobSet("other", asksFor("cri"))} {
		for end := time.Now().Add(30 * time.Second); c.try(probe) == nil; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				c.Fatalf("the policy for %T is not enforced", probe)
			}
		}
	}
}

// try checks in a dry run whether the object could be created.
func (c *cluster) try(obj client.Object) error {
	return c.Create(c.Context(), obj.DeepCopyObject().(client.Object), client.DryRunAll)
}

func (c *cluster) expect(what string, err error, refused string) {
	c.Helper()
	switch {
	case refused == "" && err != nil:
		c.Errorf("%s: %v", what, err)
	case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
		c.Errorf("%s: %v, want it refused with %q", what, err, refused)
	}
}

// pod returns a pod of a JobSet with volumes for these paths on the node.
func pod(namespace string, paths ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p", Labels: map[string]string{v1alpha2.JobSetNameKey: "js"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}, Volumes: volumes(paths...)},
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "own", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	return p
}

func volumes(paths ...string) []corev1.Volume {
	var list []corev1.Volume
	for i, path := range paths {
		list = append(list, corev1.Volume{
			Name:         "v" + string(rune('a'+i)),
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
		})
	}
	return list
}

func jobSet(namespace string, changes ...func(*v1alpha2.JobSet)) *v1alpha2.JobSet {
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "js"},
		Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Template: batchv1.JobTemplateSpec{
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}},
		}}}},
	}
	for _, change := range changes {
		change(js)
	}
	return js
}

func asksFor(driver string) func(*v1alpha2.JobSet) {
	return func(js *v1alpha2.JobSet) { js.Annotations = map[string]string{v1alpha2.InPlaceDriverKey: driver} }
}

func templateAsksFor(driver string) func(*v1alpha2.JobSet) {
	return func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Annotations = map[string]string{v1alpha2.InPlaceDriverKey: driver}
	}
}

func mounts(paths ...string) func(*v1alpha2.JobSet) {
	return func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Volumes = volumes(paths...)
	}
}

const (
	noPod      = "a volume of this pod gives access to the node's container runtime"
	noDriver   = "annotation holdfast.dev/inplace-driver: the cri driver is equivalent to root on the node; namespace other"
	noTemplate = "a volume of a template gives access to the node's container runtime"
	socket     = "/run/containerd/containerd.sock"
)

func TestPodsOfGroups(t *testing.T) {
	c := start(t, "false")
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		refused string
	}{
		"no path on the node":                   {pod("other"), ""},
		"another path on the node":              {pod("other", "/data", "/run/nvidia", "/runner"), ""},
		"the socket":                            {pod("other", socket), noPod},
		"the socket after another path":         {pod("other", "/data", socket), noPod},
		"the socket by its other path":          {pod("other", "/var/run/containerd/containerd.sock"), noPod},
		"its folder":                            {pod("other", "/run/containerd"), noPod},
		"its folder, with a slash":              {pod("other", "/run/containerd/"), noPod},
		"the folder above":                      {pod("other", "/run"), noPod},
		"the folder above, with a slash":        {pod("other", "/var/run/"), noPod},
		"everything":                            {pod("other", "/"), noPod},
		"another socket of the runtime":         {pod("other", "/run/containerd/containerd.sock.ttrpc"), noPod},
		"the socket of another runtime":         {pod("other", "/run/crio/crio.sock"), noPod},
		"Docker's":                              {pod("other", "/var/run/docker.sock"), noPod},
		"the root of the node, through /proc":   {pod("other", "/proc/1/root"), noPod},
		"a path with two slashes":               {pod("other", "/run//containerd/containerd.sock"), noPod},
		"a path with a dot":                     {pod("other", "/run/./containerd"), noPod},
		"a path that ends with a dot":           {pod("other", "/run/."), noPod},
		"in an allowed namespace":               {pod("listed", socket), ""},
		"in another allowed namespace":          {pod("also-listed", socket), ""},
		"in the namespace of the control plane": {pod("kube-system", socket), ""},
	} {
		c.expect(name, c.try(tc.pod), tc.refused)
	}
	stranger := pod("other", "/")
	stranger.Labels = nil
	c.expect("a pod without a JobSet", c.try(stranger), "")
}

func TestAllPods(t *testing.T) {
	c := start(t, "true")
	stranger := pod("other", socket)
	stranger.Labels = nil
	c.expect("a pod without a JobSet", c.try(stranger), noPod)
	stranger.Spec.Volumes = nil
	c.expect("a pod without volumes", c.try(stranger), "")
}

func TestJobSets(t *testing.T) {
	c := start(t, "false")
	for name, tc := range map[string]struct {
		js      *v1alpha2.JobSet
		refused string
	}{
		"neither the driver nor the socket": {jobSet("other"), ""},
		"the driver exec":                   {jobSet("other", asksFor("exec")), ""},
		"the driver cri":                    {jobSet("other", asksFor("cri")), noDriver},
		"the driver cri in a template":      {jobSet("other", templateAsksFor("cri")), noDriver},
		"another driver in a template":      {jobSet("other", templateAsksFor("none")), ""},
		"the socket in a template":          {jobSet("other", mounts("/data", socket)), noTemplate},
		"the folder above":                  {jobSet("other", mounts("/run")), noTemplate},
		"another path on the node":          {jobSet("other", mounts("/data")), ""},
		"in an allowed namespace":           {jobSet("listed", asksFor("cri"), mounts(socket)), ""},
	} {
		c.expect(name, c.try(tc.js), tc.refused)
	}
}

// A JobSet can still be changed, but not to use the cri driver. A JobSet that was created before the policy can finish.
func TestChangesOfJobSets(t *testing.T) {
	c := start(t, "false")
	js := jobSet("other", asksFor("exec"))
	c.make(js)
	change := func(annotation, value string) error {
		before := js.DeepCopy()
		metav1.SetMetaDataAnnotation(&js.ObjectMeta, annotation, value)
		defer func() { js = before }()
		return c.Patch(c.Context(), js, client.MergeFrom(before), client.DryRunAll)
	}
	c.expect("another annotation", change("a", "b"), "")
	c.expect("the driver cri", change(v1alpha2.InPlaceDriverKey, "cri"), noDriver)
	parameters := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "parameters"}}
	old := jobSet("listed", asksFor("cri"), mounts(socket))
	c.make(old)
	if err := c.Patch(c.Context(), parameters, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"namespaces":""}}`))); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); c.try(jobSet("listed", func(js *v1alpha2.JobSet) { js.Name = "new" }, asksFor("cri"))) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the new parameters have not taken effect")
		}
	}
	before := old.DeepCopy()
	old.Spec.Suspend = ptr.To(true)
	c.expect("a JobSet from before", c.Patch(c.Context(), old, client.MergeFrom(before)), "")
}
