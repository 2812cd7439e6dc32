package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

const withInPlace = `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
inPlace: {storeAddress: "valkey:6379", storeSecret: store, execImage: "exec:1"}
`

const guardedStore = `
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
inPlace: {storeAddress: "a:1", storeACL: true, storeTLS: true, storeTLSServerName: name}
`

func TestAgentsFromFlagsAndFile(t *testing.T) {
	file, guarded := write(t, withInPlace), write(t, guardedStore)
	cases := map[string]struct {
		args []string
		want inject.Settings
	}{
		"nothing": {nil, inject.Settings{Store: supervise.Store{SecretKey: "password"}}},
		"the file": {[]string{"--config=" + file}, inject.Settings{
			Store: supervise.Store{Address: "valkey:6379", Secret: "store", SecretKey: "password"}, ExecImage: "exec:1"}},
		"flags override the file": {[]string{"--config=" + file, "--inplace-store-address=other:1", "--inplace-exec-image=exec:2", "--inplace-store-secret="},
			inject.Settings{Store: supervise.Store{Address: "other:1", SecretKey: "password"}, ExecImage: "exec:2"}},
		"all flags": {
			[]string{"--inplace-store-address=a:1", "--inplace-store-username=u", "--inplace-store-secret=s", "--inplace-store-secret-key=k",
				"--inplace-exec-image=e", "--inplace-agent-image=g"},
			inject.Settings{Store: supervise.Store{Address: "a:1", Username: "u", Secret: "s", SecretKey: "k"}, ExecImage: "e", AgentImage: "g"}},
		"all flags of a guarded store": {
			[]string{"--inplace-store-address=a:1", "--inplace-store-acl", "--inplace-store-tls", "--inplace-store-tls-server-name=name"},
			inject.Settings{Store: supervise.Store{Address: "a:1", SecretKey: "password", TLS: true, ServerName: "name"}, StoreACL: true}},
		"a guarded store in the file": {[]string{"--config=" + guarded}, inject.Settings{
			Store: supervise.Store{Address: "a:1", SecretKey: "password", TLS: true, ServerName: "name"}, StoreACL: true}},
		"a guarded store opened by flags": {[]string{"--config=" + guarded, "--inplace-store-acl=false", "--inplace-store-tls=false"}, inject.Settings{
			Store: supervise.Store{Address: "a:1", SecretKey: "password", ServerName: "name"}}},
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

func TestInvalidStoreAddress(t *testing.T) {
	for _, address := range []string{"valkey", "valkey:", ":6379", "a:b:c"} {
		_, err := tryParse("--inplace-store-address=" + address)
		if err == nil || !strings.Contains(err.Error(), "--inplace-store-address (inPlace.storeAddress)") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestInvalidUsersAndSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"TLS without a Secret that holds the CA":    {[]string{"--inplace-store-tls"}, "set --inplace-store-acl or --inplace-store-secret"},
		"a shared user alongside individual ones":   {[]string{"--inplace-store-acl", "--inplace-store-username=u"}, "omit --inplace-store-username"},
		"a shared Secret alongside individual ones": {[]string{"--inplace-store-acl", "--inplace-store-secret=s"}, "omit"},
	} {
		if _, err := tryParse(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
