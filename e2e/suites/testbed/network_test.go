//go:build e2e

package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A server in a pod on node-2 is reachable in every way that a pod or the host can use.
func TestServicesAndNames(t *testing.T) {
	ns := namespace(t, "network")
	runPod(t, ns, probe(t, "node-2", "server", "serve", ":8080"))
	svc := service(t, ns, "server", corev1.ServiceTypeNodePort, 80, 8080)
	awaitReady(t, ns, "server")

	for name, test := range map[string]struct{ node, url string }{
		"by name, from the other node":          {"node-1", "http://server"},
		"by full name, from the other node":     {"node-1", "http://server." + ns + ".svc.cluster.local"},
		"by name, from the same node":           {"node-2", "http://server"},
		"by cluster address, from other node":   {"node-1", "http://" + svc.Spec.ClusterIP},
		"by cluster address, from same node":    {"node-2", "http://" + svc.Spec.ClusterIP},
		"by node port of the node it is not on": {"node-1", fmt.Sprintf("http://10.88.1.1:%d", svc.Spec.Ports[0].NodePort)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := podName(name)
			runPod(t, ns, probe(t, test.node, caller, "get", test.url))
			if got := output(t, ns, caller); got != "server" {
				t.Errorf("%s answered %q", test.url, got)
			}
		})
	}
	t.Run("by cluster address, from the host", func(t *testing.T) {
		t.Parallel()
		until(t, "the service responds", func(ctx context.Context) error {
			return answers(ctx, "http://"+svc.Spec.ClusterIP, "server")
		})
	})
}

// podName derives a pod name from a sentence.
func podName(sentence string) string {
	name := []byte("client-")
	for _, letter := range []byte(sentence) {
		if letter >= 'a' && letter <= 'z' {
			name = append(name, letter)
		}
	}
	return string(name)
}

func answers(ctx context.Context, url, want string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != want {
		err = errors.New(string(body))
	}
	return err
}
