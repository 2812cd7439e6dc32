package images

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// product is where the stage that builds leaves the program.
const product = "/program"

var mount = regexp.MustCompile(`^(?:--mount=\S+\s+)+`)

// Build carries out the one RUN of the stage that builds, in the tree at root as it is, for a platform such as linux/arm64, and leaves
// the program in the file. Arguments are those that the caller sets for all images, such as VERSION.
func Build(ctx context.Context, stage Stage, image Image, root, platform string, arguments map[string]string, file string) error {
	runs := stage.All("RUN")
	if len(runs) != 1 || !strings.Contains(runs[0], "-o "+product) {
		return fmt.Errorf("the stage is not one command that makes %s: %q", product, runs)
	}
	command := exec.CommandContext(ctx, "sh", "-c", strings.Replace(mount.ReplaceAllString(runs[0], ""), "-o "+product, `-o "$HOLDFAST_PRODUCT"`, 1))
	command.Dir = filepath.Join(root, image.Module)
	command.Env = append(os.Environ(), "HOLDFAST_PRODUCT="+file)
	for name, value := range values(stage, image, platform, arguments) {
		command.Env = append(command.Env, name+"="+value)
	}
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", image.Name, platform, err, out)
	}
	return nil
}

// values of the stage's arguments: defaults, what all images have, what this one has, and what the builder knows of the platform.
func values(stage Stage, image Image, platform string, arguments map[string]string) map[string]string {
	all := stage.Arguments()
	maps.Copy(all, arguments)
	maps.Copy(all, image.Arguments)
	all["MODULE"], all["PROGRAM"] = image.Module, image.Program
	all["TARGETOS"], all["TARGETARCH"], _ = strings.Cut(platform, "/")
	return all
}
