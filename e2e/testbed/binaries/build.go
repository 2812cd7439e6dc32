package binaries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the components that are missing or out of date in dir, one after the other, because each build uses all
// cores. It returns the stamp of each component.
func Build(ctx context.Context, dir string, components []Component, progress io.Writer) (map[string]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	stamps := map[string]string{}
	for _, component := range components {
		dir := filepath.Join(dir, component.Folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("creating the folder for binaries: %w", err)
		}
		stamp, err := component.stamp(root)
		if err != nil {
			return nil, err
		}
		stamps[component.Name] = stamp
		if current(dir, component.Name) == stamp {
			continue
		}
		if err := build(ctx, root, dir, component, progress); err != nil {
			return nil, err
		}
		if err := keep(dir, component.Name, stamp); err != nil {
			return nil, err
		}
	}
	return stamps, nil
}

func build(ctx context.Context, root, dir string, c Component, progress io.Writer) error {
	// A running program must keep its file, so the new file is renamed only when it is complete.
	target := filepath.Join(dir, c.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", c.Tags,
		"-ldflags", "-s -w "+c.LDFlags, "-o", target+".new", c.Package)
	cmd.Dir = filepath.Join(root, c.Module)
	// The tools' modules are outside the workspace.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out

	stop := tick(progress, "building "+filepath.Join(c.Folder, c.Name))
	err := cmd.Run()
	stop(err)
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", c.Name, err, tail(out.Bytes()))
	}
	return os.Rename(target+".new", target)
}

// tail returns the end of a long output.
func tail(out []byte) []byte {
	const limit = 4000
	if len(out) > limit {
		return out[len(out)-limit:]
	}
	return out
}
