// Package inprocess runs kube-scheduler with the plugin inside a test or benchmark, against a real API server.
package inprocess

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeschedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/plugin"
)

// Start starts a scheduler and returns once its caches have synced. The scheduler runs until ctx is done; then done
// is closed.
func Start(ctx context.Context, config *rest.Config, configuration *kubeschedulerconfig.KubeSchedulerConfiguration) (sched *scheduler.Scheduler, done <-chan struct{}, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	informers := scheduler.NewInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err = scheduler.New(ctx, client, informers, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
		scheduler.WithKubeConfig(config),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithPodInitialBackoffSeconds(configuration.PodInitialBackoffSeconds),
		scheduler.WithPodMaxBackoffSeconds(configuration.PodMaxBackoffSeconds),
		scheduler.WithParallelism(configuration.Parallelism),
		scheduler.WithFrameworkOutOfTreeRegistry(runtime.Registry{plugin.Name: plugin.New}),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("creating the scheduler: %w", err)
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return nil, nil, fmt.Errorf("waiting for the scheduler's caches: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer broadcaster.Shutdown()
		sched.Run(ctx)
	}()
	return sched, ended, nil
}
