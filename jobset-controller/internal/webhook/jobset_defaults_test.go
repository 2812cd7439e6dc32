package webhook

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// defaulted passes a JobSet through the webhook. old is the JobSet before an update.
func defaulted(t *testing.T, old, js *v1alpha2.JobSet) *v1alpha2.JobSet {
	t.Helper()
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create}}
	if old != nil {
		text, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		request.Operation, request.OldObject = admissionv1.Update, runtime.RawExtension{Raw: text}
	}
	js = js.DeepCopy()
	if err := (defaults{}).Default(admission.NewContextWithRequest(context.Background(), request), js); err != nil {
		t.Fatal(err)
	}
	return js
}

func TestNewJobSetGetsThePublishedDefaults(t *testing.T) {
	js := MakeJobSet("a").Workers(1).Rule(v1alpha2.FailurePolicyRule{Action: v1alpha2.FailJobSet}).Rule(v1alpha2.FailurePolicyRule{Name: "own"}).
		Change(func(js *v1alpha2.JobSet) { js.Spec.VolumeClaimPolicies = []v1alpha2.VolumeClaimPolicy{{}} })
	want := js.Obj().DeepCopy()
	want.Spec.Network = &v1alpha2.Network{EnableDNSHostnames: ptr.To(true), PublishNotReadyAddresses: ptr.To(true)}
	want.Spec.SuccessPolicy = &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAll}
	want.Spec.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.AnyOrder}
	want.Spec.FailurePolicy.Rules[0].Name = "failurePolicyRule0"
	want.Spec.VolumeClaimPolicies[0].RetentionPolicy = &v1alpha2.VolumeRetentionPolicy{WhenDeleted: v1alpha2.RetentionPolicyDelete}
	job := &want.Spec.ReplicatedJobs[0].Template.Spec
	job.CompletionMode, job.Template.Spec.RestartPolicy = ptr.To(batchv1.IndexedCompletion), corev1.RestartPolicyOnFailure
	if diff := cmp.Diff(want, defaulted(t, nil, js.Obj())); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultRulesOfAnOrderedStartAreNotWritten(t *testing.T) {
	got := defaulted(t, nil, MakeJobSet("a").Entry("a", 1).Entry("b", 1).InOrder().Obj())
	if rules := got.Spec.StartupPolicy.Rules; len(rules) > 0 {
		t.Errorf("rules %+v", rules)
	}
}

func TestSetValuesAreKept(t *testing.T) {
	js := MakeJobSet("a").Entry("a", 1, func(e *v1alpha2.ReplicatedJob) {
		e.Template.Spec.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
		e.Template.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}).Entry("b", 1).WaitFor(v1alpha2.WaitForSucceeded, "a").Success(v1alpha2.OperatorAny, "a").Change(func(js *v1alpha2.JobSet) {
		js.Spec.Network = &v1alpha2.Network{EnableDNSHostnames: ptr.To(false), Subdomain: "s"}
	})
	got := defaulted(t, nil, js.Obj())
	want := js.Obj().DeepCopy()
	want.Spec.Network.PublishNotReadyAddresses = ptr.To(true)
	second := &want.Spec.ReplicatedJobs[1].Template.Spec
	second.CompletionMode, second.Template.Spec.RestartPolicy = ptr.To(batchv1.IndexedCompletion), corev1.RestartPolicyOnFailure
	delete(got.Annotations, v1alpha2.CarriedSpecKey)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// Clients with the upstream types read a JobSet, change it and send it back without the fields that their types lack.
func TestUpdateKeepsUnknownFieldsOfTheClient(t *testing.T) {
	carries := func(js *v1alpha2.JobSet) *v1alpha2.JobSet {
		js.Annotations = map[string]string{v1alpha2.CarriedSpecKey: carriedText}
		return js
	}
	partial := published(whole().Suspend(true).Obj())
	if diff := cmp.Diff(carries(whole().Suspend(true).Obj()), defaulted(t, whole().Obj(), partial)); diff != "" {
		t.Error(diff)
	}
	other := whole()
	other.Spec.StartupPolicy.Rules[0].WaitForReplicatedJobsStatus = v1alpha2.WaitForReady
	other.Spec.FailurePolicy.Rules[1].MaxRestarts = ptr.To[int32](9)
	if diff := cmp.Diff(other.Obj().Spec, defaulted(t, whole().Obj(), other.Obj()).Spec); diff != "" {
		t.Errorf("a change is reverted instead of being left to validation: %s", diff)
	}
}

func TestStartupPolicyWithoutAnOrder(t *testing.T) {
	js := MakeJobSet("a").Workers(1).Change(func(js *v1alpha2.JobSet) { js.Spec.StartupPolicy = &v1alpha2.StartupPolicy{} })
	if got := defaulted(t, nil, js.Obj()).Spec.StartupPolicy.StartupPolicyOrder; got != v1alpha2.AnyOrder {
		t.Errorf("the order is %q", got)
	}
}

// The test does what kubectl get -o yaml, kubectl delete and kubectl apply do.
func TestResubmittedJobSetStartsFromZero(t *testing.T) {
	js := MakeJobSet("a").Workers(1).Annotation("mine", "1").Annotation(v1alpha2.InPlaceTimeoutKey, "60s").
		Annotation(v1alpha2.InPlaceRestartsKey, "3").Annotation(epoch.Annotation, `{"epoch":4,"recreate":4}`).Annotation(history.Annotation, "x").
		Annotation(recovering.Annotation, "x").Annotation("holdfast.dev/store-user", "x").Annotation(v1alpha2.WrittenForKey, "another")
	want := map[string]string{"mine": "1", v1alpha2.InPlaceTimeoutKey: "60s"}
	if diff := cmp.Diff(want, defaulted(t, nil, js.Obj()).Annotations); diff != "" {
		t.Error(diff)
	}
	live := MakeJobSet("a").Workers(1).Annotation(v1alpha2.InPlaceRestartsKey, "1").Annotation(v1alpha2.WrittenForKey, "a-uid").Obj()
	want[v1alpha2.InPlaceRestartsKey], want[v1alpha2.WrittenForKey] = "1", "a-uid"
	if diff := cmp.Diff(want, defaulted(t, live, js.Obj()).Annotations); diff != "" {
		t.Errorf("applied again: %s", diff)
	}
	next := live.DeepCopy()
	next.Annotations[v1alpha2.InPlaceRestartsKey] = "2"
	if diff := cmp.Diff(next.Annotations, defaulted(t, live, next).Annotations); diff != "" {
		t.Errorf("written by a program: %s", diff)
	}
}
