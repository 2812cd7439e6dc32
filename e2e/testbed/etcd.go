package testbed

import (
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// The ports differ from etcd's default ports, which may be in use on the host.
const (
	etcdAddress = "127.0.0.1:23790"
	etcdURL     = "http://" + etcdAddress
	etcdPeerURL = "http://127.0.0.1:23800"
)

func (u *up) etcd() component {
	dir := u.layout.state(etcd)
	return component{
		spec: u.spec(process.Spec{Name: etcd, Dir: dir, Command: []string{
			"/usr/bin/etcd",
			"--name=testbed",
			"--data-dir=" + filepath.Join(dir, "data"),
			"--listen-client-urls=" + etcdURL,
			"--advertise-client-urls=" + etcdURL,
			"--listen-peer-urls=" + etcdPeerURL,
			"--initial-advertise-peer-urls=" + etcdPeerURL,
			"--initial-cluster=testbed=" + etcdPeerURL,
			"--logger=zap",
			"--quota-backend-bytes=4294967296",
			// The data only has to outlive the process. It is not needed after a crash of the host.
			"--unsafe-no-fsync",
		}}),
		ready: answersOK(plainClient, etcdURL+"/health"),
	}
}
