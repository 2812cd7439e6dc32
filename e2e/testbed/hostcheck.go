package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// programs lists the distribution's programs that the testbed uses.
var programs = []string{
	"/usr/bin/etcd", valkeyFolder + "/valkey-server", "/usr/sbin/runc", "/usr/sbin/nft",
	"/usr/bin/nsenter", "/usr/bin/unshare",
	cniPlugins + "/bridge", cniPlugins + "/host-local", cniPlugins + "/loopback",
}

// checkHost returns a single error that lists everything that is missing.
func checkHost() error {
	if os.Geteuid() != 0 {
		return errors.New("the testbed needs root: it creates devices, mounts and control groups")
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

// checkOwner returns an error if a testbed that belongs to another directory is up. If only the records of that testbed are left, because its
// processes were killed, checkOwner takes it down.
func checkOwner(ctx context.Context, layout Layout, progress io.Writer) error {
	raw, err := os.ReadFile(ownerFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the owner of the testbed: %w", err)
	}
	owner := strings.TrimSpace(string(raw))
	if owner == layout.State() || owner == "" {
		return nil
	}
	if _, err := os.Stat(owner); err != nil {
		return nil // its directory is gone, so nothing else can clean up
	}
	other := Layout{cache: filepath.Dir(owner)}
	if slices.ContainsFunc((process.Table{Dir: other.processDir()}).All(), func(r process.Record) bool { return r.ID.Alive() }) {
		return fmt.Errorf("another testbed is up on this host, with its state in %s", owner)
	}
	fmt.Fprintf(progress, "removing what a dead testbed left behind in %s\n", owner)
	return other.tearDown(ctx, false, progress)
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
