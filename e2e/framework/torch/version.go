package torch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Version is a PyTorch installation on this host.
type Version struct {
	// Name is the release, such as 2.6.
	Name string
	// Root is the root directory of Debian's files: / for the host's own.
	Root string
}

// The versions that the tests use: Debian 12's, and Debian 13's as hack/install-torch-2.6.sh installs it.
var (
	Torch113 = Version{"1.13", "/"}
	Torch26  = Version{"2.6", "/var/cache/holdfast/debian13-torch2.6"}
	Versions = []Version{Torch113, Torch26}
)

// python is Debian's. Another Python that comes first in PATH lacks torch.
const python = "/usr/bin/python3"

// enter runs Python in another root, with the host's devices and its directory of the state. The mounts end with the
// process.
const enter = `for d in /dev /proc /sys /tmp; do mkdir -p "$0$d" && mount --rbind "$d" "$0$d"; done
for f in hosts resolv.conf; do touch "$0/etc/$f" && mount --bind "/etc/$f" "$0/etc/$f"; done
exec chroot "$0" ` + python + ` "$@"`

// command returns a Python command. With its own root, the program sees only those files of the host that are below
// /tmp.
func (v Version) command(ctx context.Context, args ...string) *exec.Cmd {
	if v.Root == "/" {
		return exec.CommandContext(ctx, python, args...)
	}
	return exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "sh", "-ec", enter, v.Root}, args...)...)
}

// Env returns the additional environment variables of this build's workers. Debian builds PyTorch 2.6 without libuv.
func (v Version) Env() []string {
	if v == Torch26 {
		return []string{"USE_LIBUV=0"}
	}
	return nil
}

// Verify fails if a step is missing from the model that a training has saved, or was applied twice. The state must be
// below /tmp.
func (v Version) Verify(ctx context.Context, state string) error {
	program := filepath.Join(filepath.Dir(state), "verify.py")
	if err := os.WriteFile(program, []byte(Train), 0o644); err != nil {
		return err
	}
	c := v.command(ctx, program, "verify")
	c.Env = append(os.Environ(), "TRAIN_STATE="+state)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("verifying the model: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
