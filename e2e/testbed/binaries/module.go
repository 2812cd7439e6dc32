package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ModuleDir returns the directory of a module's source in the module cache, at the version pinned by one of the
// tools' modules. It downloads the module if necessary.
func ModuleDir(ctx context.Context, tool, path string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path)
	cmd.Dir, cmd.Stderr = filepath.Join(root, tool), os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", path, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		return "", fmt.Errorf("finding module %s: no folder in %q (%v)", path, out, err)
	}
	return module.Dir, nil
}
