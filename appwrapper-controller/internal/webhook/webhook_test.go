package webhook

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

func as(user authenticationv1.UserInfo) context.Context {
	return admission.NewContextWithRequest(context.Background(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UserInfo: user}})
}

var (
	alice   = authenticationv1.UserInfo{Username: "alice", UID: "1", Groups: []string{"users"}}
	nothing = appWrappers{operator: settings.Default().FaultTolerance}
)

const pods = `spec: {containers: [{name: a, image: b}]}`

// reviews allows everything except Jobs.
type reviews struct {
	client.Client
	asked []authorizationv1.SubjectAccessReviewSpec
	err   error
}

func (r *reviews) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	review := o.(*authorizationv1.SubjectAccessReview)
	r.asked = append(r.asked, review.Spec)
	review.Status.Allowed = review.Spec.ResourceAttributes.Resource != "jobs"
	return r.err
}

func (*reviews) RESTMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, meta.RESTScopeRoot)
	return m
}

func TestInvalidAppWrappersAreRejected(t *testing.T) {
	many := MakeAppWrapper("a")
	for range 19 {
		many.Pod("p")
	}
	for name, tc := range map[string]struct {
		aw   *AppWrapper
		want string // empty if accepted
	}{
		"a Job":                           {MakeAppWrapper("a").Job("j", 1), ""},
		"a Job and a Service":             {MakeAppWrapper("a").Service("s").Job("j", 1), ""},
		"a nested AppWrapper":             {MakeAppWrapper("a").Job("j", 1).Component(`{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper}`), "spec.components[1].template: Forbidden: Nested AppWrappers are forbidden"},
		"a different namespace":           {MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod, metadata: {namespace: other}, ` + pods + `}`), "spec.components[0].template.metadata.namespace: Forbidden: AppWrappers cannot create objects in other namespaces"},
		"no pods":                         {MakeAppWrapper("a").Service("s"), "spec.components: Invalid value: 1: components contains no podspecs"},
		"no components":                   {MakeAppWrapper("a"), "components contains no podspecs"},
		"more pod sets than Kueue allows": {many, "components contains 19 podspecs; at most 18 are allowed"},
		"a path that does not exist":      {MakeAppWrapper("a").Component(`{apiVersion: x/v1, kind: X}`, v1beta2.AppWrapperPodSet{Path: "template.spec.x"}), "spec.components[0].podSets[0].path: Invalid value: \"template.spec.x\": path does not refer to a v1.PodSpecTemplate: at path position"},
		"an empty path":                   {MakeAppWrapper("a").Component(`{apiVersion: x/v1, kind: X}`, v1beta2.AppWrapperPodSet{}), "spec.components[0].podSets[0].path: Required value: podspec must specify path"},
		"a count that differs":            {MakeAppWrapper("a").Component(`{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, template: {`+pods+`}}}`, v1beta2.AppWrapperPodSet{Path: "template.spec.template"}), "replica count 1 differs from inferred count 2"},
		"a Job without pods":              {MakeAppWrapper("a").Component(`{apiVersion: batch/v1, kind: Job, spec: {}}`), "error inferring PodSets: template.spec.template does not refer"},
		"B-20: no object":                 {MakeAppWrapper("a").Change(func(aw *v1beta2.AppWrapper) { aw.Spec.Components = []v1beta2.AppWrapperComponent{{}} }), "spec.components[0].template: Invalid value: \"\": failed to decode as JSON"},
		"B-20: another controller":        {MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod, metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: x, uid: y, controller: true}]}, ` + pods + `}`), "ownerReferences[0]: Forbidden"},
		"an unknown pod field":            {MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod, spec: {newer: 1, containers: [{name: a}]}}`), `spec.components[0].template: Invalid value: "template": content at template.spec: strict decoding error: unknown field "newer"`},
		"an unknown field in a declared set": {MakeAppWrapper("a").Component(`{apiVersion: x/v1, kind: X, spec: {template: {spec: {newer: 1, containers: [{name: a}]}}}}`, v1beta2.AppWrapperPodSet{Path: "template.spec.template"}),
			`spec.components[0].podSets: Invalid value: "template.spec.template": content at template.spec.template.spec: strict decoding error: unknown field "newer"`},
		"B-19: a long name": {MakeAppWrapper(strings.Repeat("a", 64)).Job("j", 1), "metadata.name: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nothing.ValidateCreate(t.Context(), tc.aw.Obj())
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		aw   *AppWrapper
		want string
	}{
		"no warnings":             {MakeAppWrapper("a").Job("j", 1), ""},
		"an invalid duration":     {MakeAppWrapper("a").Job("j", 1).Annotation(v1beta2.WarmupGracePeriodKey, "5"), v1beta2.WarmupGracePeriodKey + `: "5" is not a duration`},
		"B-28: a misspelled name": {MakeAppWrapper("a").Job("j", 1).Annotation("workload.codeflare.dev.appwrapper/retrylimit", "5"), "unknown annotation"},
		"B-20: a finalizer":       {MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod, metadata: {finalizers: [a/b]}, ` + pods + `}`), "[a/b] delay every reset"},
		"a Job with a short TTL":  {MakeAppWrapper("a").Component(`{apiVersion: batch/v1, kind: Job, spec: {ttlSecondsAfterFinished: 0, template: {` + pods + `}}}`), "spec.components[0].template.spec.ttlSecondsAfterFinished: an object that is deleted less than 1m0s"},
		"a Job with a longer TTL": {MakeAppWrapper("a").Component(`{apiVersion: batch/v1, kind: Job, spec: {ttlSecondsAfterFinished: 60, template: {` + pods + `}}}`), ""},
		"an MPIJob with a short TTL": {MakeAppWrapper("a").Component(`{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, spec: {runPolicy: {ttlSecondsAfterFinished: 5}, mpiReplicaSpecs: {Worker: {template: {`+pods+`}}}}}`,
			v1beta2.AppWrapperPodSet{Path: "template.spec.mpiReplicaSpecs.Worker.template"}), "spec.runPolicy.ttlSecondsAfterFinished: an object"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := nothing.ValidateCreate(t.Context(), tc.aw.Obj())
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(warnings, "\n"); (all == "") != (tc.want == "") || !strings.Contains(all, tc.want) {
				t.Errorf("got %q, want %q", all, tc.want)
			}
		})
	}
}

func TestAccessCheck(t *testing.T) {
	r := &reviews{}
	w := appWrappers{access: r, reviews: review.With(key(t))}
	if err := w.Default(as(alice), MakeAppWrapper("a").Pod("p").Obj()); err != nil {
		t.Error(err)
	}
	want := authorizationv1.ResourceAttributes{Namespace: "default", Verb: "create", Version: "v1", Resource: "pods"}
	if asked := r.asked[0]; *asked.ResourceAttributes != want || asked.User != "alice" || asked.UID != "1" || asked.Groups[0] != "users" {
		t.Errorf("asked %+v", asked)
	}
	err := w.Default(as(alice), MakeAppWrapper("a").Pod("p").Job("j", 1).Obj())
	if err == nil || !strings.Contains(err.Error(), "spec.components[1].template: Forbidden: User alice is not authorized to create jobs in default") {
		t.Errorf("got %v", err)
	}
	err = w.Default(as(alice), MakeAppWrapper("a").Pod("p").Component(`{apiVersion: x/v1, kind: X}`).Obj())
	if err == nil || !strings.Contains(err.Error(), "the cluster does not serve this kind") {
		t.Errorf("B-20: an unknown kind: %v", err)
	}
	r.err = errors.New("no answer")
	if err = w.Default(as(alice), MakeAppWrapper("a").Pod("p").Obj()); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("failed access review: %v", err)
	}
}

// key returns a directory with the webhook certificate's private key.
func key(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tls.key"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestImmutableFields(t *testing.T) {
	before := func() *AppWrapper {
		return MakeAppWrapper("a").Component(`{apiVersion: x/v1, kind: X}`, v1beta2.AppWrapperPodSet{Path: "template.a"}).
			Change(func(aw *v1beta2.AppWrapper) {
				aw.Labels = map[string]string{v1beta2.UserLabel: "u", v1beta2.UserIDLabel: "1"}
			})
	}
	for name, tc := range map[string]struct {
		change func(*v1beta2.AppWrapper)
		want   string
	}{
		"suspension":        {func(aw *v1beta2.AppWrapper) { aw.Spec.Suspend = true }, ""},
		"the pod set infos": {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].PodSetInfos = []v1beta2.AppWrapperPodSetInfo{{}} }, ""},
		"annotations of sets": {func(aw *v1beta2.AppWrapper) {
			aw.Spec.Components[0].DeclaredPodSets[0].Annotations = map[string]string{"a": "b"}
		}, ""},
		"an explicit default count": {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].DeclaredPodSets[0].Replicas = new(int32(1)) }, ""},
		"the number of components":  {func(aw *v1beta2.AppWrapper) { aw.Spec.Components = nil }, "spec.components: Forbidden: attempt to change immutable field"},
		"a template":                {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].Template.Raw = []byte(`{}`) }, "spec.components[0].template.raw: Forbidden"},
		"the number of sets":        {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].DeclaredPodSets = nil }, "spec.components[0].podsets: Forbidden"},
		"a count":                   {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].DeclaredPodSets[0].Replicas = new(int32(2)) }, "podsets[0].replicas: Forbidden"},
		"a path":                    {func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].DeclaredPodSets[0].Path = "template.b" }, "podsets[0].path: Forbidden"},
		"the user name":             {func(aw *v1beta2.AppWrapper) { aw.Labels[v1beta2.UserLabel] = "x" }, "metadata.labels[workload.codeflare.dev/user]: Forbidden"},
		"the user ID":               {func(aw *v1beta2.AppWrapper) { aw.Labels[v1beta2.UserIDLabel] = "x" }, "metadata.labels[workload.codeflare.dev/userid]: Forbidden"},
		"managedBy":                 {func(aw *v1beta2.AppWrapper) { aw.Spec.ManagedBy = new("x") }, "spec.managedBy: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := nothing.ValidateUpdate(t.Context(), before().Obj(), before().Change(tc.change).Obj())
			if (err == nil) != (tc.want == "") || (err != nil && !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	aw := MakeAppWrapper("a").Component(`{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, spec: {mpiReplicaSpecs: {Worker: {replicas: 2, template: {`+pods+`}}}}}`).Job("j", 1).Obj()
	aw.Labels = map[string]string{v1beta2.UserLabel: "somebody else"}
	user := authenticationv1.UserInfo{Username: "system:serviceaccount:a:" + strings.Repeat("b", 60), UID: "-x/y-"}
	if err := (appWrappers{queue: "default"}).Default(as(user), aw); err != nil {
		t.Fatal(err)
	}
	if aw.Labels[v1beta2.QueueLabel] != "default" || aw.Labels[v1beta2.UserIDLabel] != "x_y" {
		t.Errorf("labels %v", aw.Labels)
	}
	if want := ("system_serviceaccount_a_" + strings.Repeat("b", 60))[:63]; aw.Labels[v1beta2.UserLabel] != want {
		t.Errorf("user %s", aw.Labels[v1beta2.UserLabel])
	}
	if sets := aw.Spec.Components[0].DeclaredPodSets; len(sets) != 1 || sets[0].Path != "template.spec.mpiReplicaSpecs.Worker.template" || sets[0].Count() != 2 {
		t.Errorf("sets %v", sets)
	}
	if aw.Spec.Components[1].DeclaredPodSets != nil {
		t.Error("pod sets that Kueue infers are declared")
	}
	aw.Labels[v1beta2.QueueLabel] = "mine"
	if err := (appWrappers{queue: "default"}).Default(as(alice), aw); err != nil || aw.Labels[v1beta2.QueueLabel] != "mine" {
		t.Errorf("queue %s (%v)", aw.Labels[v1beta2.QueueLabel], err)
	}
}

// A permission in a namespace does not cover cluster-scoped objects.
func TestClusterScopedObjectsAreRejected(t *testing.T) {
	r := &reviews{}
	kind := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	err := (appWrappers{access: r}).checkAccess(t.Context(), authenticationv1.UserInfo{Username: "u"}, "ns", kind, field.NewPath("spec"))
	if err == nil || len(r.asked) > 0 {
		t.Errorf("%v, after %d access reviews", err, len(r.asked))
	}
}

// The signature means that the user may create all components. A signature written by the user is replaced.
func TestOnlyAllowedAppWrappersAreSigned(t *testing.T) {
	w := appWrappers{access: &reviews{}, reviews: review.With(key(t))}
	for name, tc := range map[string]struct {
		webhook appWrappers
		aw      *AppWrapper
		stamped bool
	}{
		"allowed components":       {w, MakeAppWrapper("a").Pod("p"), true},
		"a forbidden component":    {w, MakeAppWrapper("a").Pod("p").Job("j", 1), false},
		"an invalid component":     {w, MakeAppWrapper("a").Change(func(aw *v1beta2.AppWrapper) { aw.Spec.Components = []v1beta2.AppWrapperComponent{{}} }), false},
		"without the access check": {nothing, MakeAppWrapper("a").Pod("p"), false},
	} {
		aw := tc.aw.Annotation(review.Annotation, "mine").Obj()
		if err := tc.webhook.Default(as(alice), aw); (err != nil) != (name == "a forbidden component") {
			t.Errorf("%s: %v", name, err)
		}
		aw.CreationTimestamp = metav1.Now()
		if err := w.reviews.Verify(aw); (err == nil) != tc.stamped || aw.Annotations[review.Annotation] == "mine" {
			t.Errorf("%s: %v, %v", name, aw.Annotations, err)
		}
	}
}
