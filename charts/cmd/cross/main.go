// Command cross builds the program of every image for every platform, by the Dockerfile's own command, and fails unless each is static and
// of the right machine. It leaves nothing behind. `make cross` runs it: the Makefile's list of images is in the environment, expanded.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/holdfast-project/holdfast/charts/internal/images"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, ".."); err != nil {
		fmt.Fprintln(os.Stderr, "cross:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) error {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		return err
	}
	stages, err := images.Parse(string(text))
	if err != nil {
		return err
	}
	all, err := images.ParseList(os.Getenv("IMAGES"))
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "holdfast-cross-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Println("| image | platform | MB |\n|---|---|---|")
	for _, image := range all {
		for platform := range strings.SplitSeq(os.Getenv("PLATFORMS"), ",") {
			if err := try(ctx, stages[0], image, root, platform, filepath.Join(folder, "program")); err != nil {
				return err
			}
		}
	}
	return nil
}

// try builds one program, looks at it, and writes a line about it.
func try(ctx context.Context, stage images.Stage, image images.Image, root, platform, file string) error {
	arguments := map[string]string{"VERSION": os.Getenv("VERSION"), "COMMIT": os.Getenv("COMMIT")}
	if err := images.Build(ctx, stage, image, root, platform, arguments, file); err != nil {
		return err
	}
	if err := images.CheckStatic(file, platform); err != nil {
		return fmt.Errorf("%s: %w", image.Name, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %s | %.1f |\n", image.Name, platform, float64(info.Size())/1e6)
	return nil
}
