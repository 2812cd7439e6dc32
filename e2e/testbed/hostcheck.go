package testbed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
)

// programs are the programs of the distribution that the testbed uses.
var programs = []string{
	"/usr/bin/etcd", valkeyFolder + "/valkey-server", "/usr/sbin/runc", "/usr/sbin/nft",
	"/usr/bin/nsenter", "/usr/bin/unshare",
	cniPlugins + "/bridge", cniPlugins + "/host-local", cniPlugins + "/loopback",
}

// checkHost returns one error with everything that is missing.
func checkHost() error {
	if os.Geteuid() != 0 {
		return errors.New("the testbed needs root: it makes devices, mounts and control groups")
	}
	var absent []string
	for _, program := range programs {
		if _, err := os.Stat(program); err != nil {
			absent = append(absent, program)
		}
	}
	if len(absent) > 0 {
		return fmt.Errorf("missing on this host: %s; hack/install-debian.sh installs what is needed", strings.Join(absent, ", "))
	}
	return nil
}

// checkOwner returns an error if a testbed of another folder is up.
func checkOwner(layout Layout) error {
	raw, err := os.ReadFile(ownerFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading whose testbed this is: %w", err)
	}
	owner := strings.TrimSpace(string(raw))
	if owner == layout.State() || owner == "" {
		return nil
	}
	if _, err := os.Stat(owner); err != nil {
		return nil // its folder is gone, so nothing else can clean up
	}
	return fmt.Errorf("another testbed is up on this host, kept in %s", owner)
}

func claim(layout Layout) error {
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return fmt.Errorf("claiming this host: %w", err)
	}
	if err := os.WriteFile(ownerFile(), []byte(layout.State()+"\n"), 0o644); err != nil {
		return fmt.Errorf("claiming this host: %w", err)
	}
	return nil
}

// noteChanges records the host's settings, once per testbed.
func noteChanges(layout Layout) error {
	if _, err := host.Load(layout.changesFile()); err == nil {
		return nil
	}
	return host.Survey(changedSysctls, mountPoints()).Save(layout.changesFile())
}
