package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
)

const withInPlace = `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
inPlace: {storeAddress: "valkey:6379", storeSecret: store, execImage: "exec:1"}
`

func TestAgentsAreSetByFlagsAndFile(t *testing.T) {
	file := write(t, withInPlace)
	cases := map[string]struct {
		args []string
		want inject.Settings
	}{
		"nothing": {nil, inject.Settings{StoreSecretKey: "password"}},
		"the file": {[]string{"--config=" + file}, inject.Settings{
			StoreAddress: "valkey:6379", StoreSecret: "store", StoreSecretKey: "password", ExecImage: "exec:1"}},
		"flags over the file": {[]string{"--config=" + file, "--inplace-store-address=other:1", "--inplace-exec-image=exec:2", "--inplace-store-secret="},
			inject.Settings{StoreAddress: "other:1", StoreSecretKey: "password", ExecImage: "exec:2"}},
		"all flags": {
			[]string{"--inplace-store-address=a:1", "--inplace-store-username=u", "--inplace-store-secret=s", "--inplace-store-secret-key=k",
				"--inplace-exec-image=e", "--inplace-agent-image=g"},
			inject.Settings{StoreAddress: "a:1", StoreUsername: "u", StoreSecret: "s", StoreSecretKey: "k", ExecImage: "e", AgentImage: "g"}},
	}
	t.Setenv("POD_NAMESPACE", "default")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parse(t, c.args...).Agents); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAStoreThatAgentsCouldNotReach(t *testing.T) {
	for _, address := range []string{"valkey", "valkey:", ":6379", "a:b:c"} {
		_, err := tryParse("--inplace-store-address=" + address)
		if err == nil || !strings.Contains(err.Error(), "--inplace-store-address (inPlace.storeAddress)") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
