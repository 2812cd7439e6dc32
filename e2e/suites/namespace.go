package suites

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// Namespace is a namespace for one test, deleted at the end of the test.
type Namespace struct {
	*testing.T
	NS string
	// State returns what is logged after a failure. It may be nil.
	State func() string
}

// NewNamespace creates a namespace and returns once pods can be created in it.
func NewNamespace(t *testing.T, k8s client.Client, prefix string) *Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := k8s.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k8s.Delete(context.Background(), ns); err != nil {
			t.Error(err)
		}
	})
	n := &Namespace{T: t, NS: ns.Name}
	n.Until("pods can be created", func(ctx context.Context) error {
		return k8s.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: "default"}, &corev1.ServiceAccount{})
	})
	return n
}

// OK ends the test if err is not nil.
func (n *Namespace) OK(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// Until calls ask until it returns nil, and ends the test with its last error after framework.Patience.
func (n *Namespace) Until(what string, ask func(context.Context) error) {
	n.Helper()
	if err := framework.Until(n.Context(), what, ask); err != nil {
		if n.State != nil {
			n.Log(n.State())
		}
		n.Fatal(err)
	}
}
