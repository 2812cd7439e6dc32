package app

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// One look at a workload of 5,000 pods is some fifteen requests, and there may be five looks a second.
func TestRequestsAreNotHeldBack(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(false)
	*flags.APIServer = "https://127.0.0.1:1"
	config, err := (&command{flags: flags}).config()
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS < 50 || config.Burst < 75 {
		t.Errorf("%g requests a second, %d at once", config.QPS, config.Burst)
	}
}
