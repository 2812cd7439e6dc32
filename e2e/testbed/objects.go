package testbed

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// storeService is the name of the store's service for pods.
const storeService = "valkey"

// ensureObjects creates the few objects that the cluster itself needs.
func (u *up) ensureObjects(ctx context.Context) error {
	client, err := u.client()
	if err != nil {
		return err
	}
	for _, create := range []func(context.Context, kubernetes.Interface) error{
		createDNSRole, createDNSBinding, createStoreService, createStoreEndpoints,
	} {
		if err := create(ctx, client); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the testbed's objects: %w", err)
		}
	}
	return nil
}

func createDNSRole(ctx context.Context, client kubernetes.Interface) error {
	read := []string{"list", "watch"}
	_, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: dnsUser},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"}, Verbs: read},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
		},
	}, metav1.CreateOptions{})
	return err
}

func createDNSBinding(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: dnsUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: dnsUser},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: dnsUser}},
	}, metav1.CreateOptions{})
	return err
}

// createStoreService creates a headless service. Its name resolves to the host's address, so no service proxy is
// needed.
func createStoreService(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().Services(corev1.NamespaceDefault).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: storeService},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Ports:     []corev1.ServicePort{{Name: redis, Port: redisPort}},
		},
	}, metav1.CreateOptions{})
	return err
}

func createStoreEndpoints(ctx context.Context, client kubernetes.Interface) error {
	port, name := int32(redisPort), redis
	_, err := client.DiscoveryV1().EndpointSlices(corev1.NamespaceDefault).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   storeService,
			Labels: map[string]string{discoveryv1.LabelServiceName: storeService},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{hostAddress}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}, metav1.CreateOptions{})
	return err
}

// awaitAccount returns once pods can be created. They need the service account that the controller manager creates in
// each namespace.
func (u *up) awaitAccount(ctx context.Context) error {
	client, err := u.client()
	if err != nil {
		return err
	}
	err = poll(ctx, startTimeout, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(corev1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the default service account: %w", err)
	}
	return nil
}

func (u *up) client() (kubernetes.Interface, error) {
	config, err := (&Cluster{layout: u.layout}).RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
