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
	// Root is the root directory of Debian's files, or / for the host's own.
	Root string
}

// The versions used by the tests: that of Debian 12, and that of Debian 13 as installed by hack/install-torch-2.6.sh.
var (
	Torch113 = Version{"1.13", "/"}
	Torch26  = Version{"2.6", "/var/cache/holdfast/debian13-torch2.6"}
	Versions = []Version{Torch113, Torch26}
)

// python is Debian's Python. Another one that comes first in PATH would lack torch.
const python = "/usr/bin/python3"

// enter runs Python in another root directory, with the host's devices and the host's directory for state. The mounts
// are removed when the process ends.
const enter = `for d in /dev /proc /sys /tmp; do mkdir -p "$0$d" && mount --rbind "$d" "$0$d"; done
for f in hosts resolv.conf; do touch "$0/etc/$f" && mount --bind "/etc/$f" "$0/etc/$f"; done
exec chroot "$0" ` + python + ` "$@"`

// command returns a Python command. If the version has its own root, the only files of the host that the program can
// access are those below /tmp.
func (v Version) command(ctx context.Context, args ...string) *exec.Cmd {
	if v.Root == "/" {
		return exec.CommandContext(ctx, python, args...)
	}
	return exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "sh", "-ec", enter, v.Root}, args...)...)
}

// Env returns the additional environment variables that workers need with this build. Debian builds PyTorch 2.6
// without libuv.
func (v Version) Env() []string {
	if v == Torch26 {
		return []string{"USE_LIBUV=0"}
	}
	return nil
}

// Verify returns an error if a step is missing from the model that a training run has saved, or was applied twice. The
// state must be below /tmp.
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
