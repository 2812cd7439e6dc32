package main

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	publishedProgram = "published-jobset-bench"
	publishedPort    = 9848
	publishedHealth  = "127.0.0.1:18848"
)

// installPublished runs the published controller in place of ours and loads its agent, until restore is called.
func installPublished(ctx context.Context, env *framework.Environment) (restore func(context.Context) error, err error) {
	agent, err := env.PublishedAgent(ctx)
	if err != nil {
		return nil, err
	}
	if err := env.LoadProgram(ctx, agentImage, agent); err != nil {
		return nil, err
	}
	other, err := env.PublishedManager(ctx, framework.PublishedAddresses{WebhookPort: publishedPort, Metrics: "0", Health: publishedHealth})
	if err != nil {
		return nil, err
	}
	if err := env.Cluster.StopProgram(ctx, framework.Manager); err != nil {
		return nil, err
	}
	restore = func(ctx context.Context) error {
		return errors.Join(env.RemoveWebhooks(ctx), env.Cluster.StopProgram(ctx, publishedProgram), env.StartManager(ctx))
	}
	for _, step := range []func() error{
		func() error {
			return env.Cluster.StartProgram(ctx, testbed.Program{Name: publishedProgram, Command: other.Command, Ready: framework.Healthy(publishedHealth)})
		},
		func() error { return env.ApplyWebhooks(ctx, other.Webhooks, publishedPort) },
		func() error { return allowAgents(ctx, env) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, restore(context.WithoutCancel(ctx)))
		}
	}
	return restore, nil
}

// allowAgents creates a role with which the agents of the namespace can watch their JobSet and patch their pods.
func allowAgents(ctx context.Context, env *framework.Environment) error {
	meta := metav1.ObjectMeta{Name: "in-place-restart-agent", Namespace: namespace}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "patch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: namespace}},
		},
	} {
		if err := client.IgnoreAlreadyExists(env.Client.Create(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}
