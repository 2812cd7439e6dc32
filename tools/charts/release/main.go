// Command release creates a release: images, SBOMs, charts, plain manifests, archives of `kubectl holdfast`, a manifest for Krew, checksums
// and their signature. It needs no container engine and pulls no images. It must be run in the root of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

const source = "https://github.com/holdfast-project/holdfast"

// release is one version of all artifacts, built from one commit.
type release struct {
	root, output string
	// registry is the registry from which nodes pull, with an optional path.
	registry string
	// version is also the image tag, such as v0.1.0.
	version, commit string
	// created is the commit time. All files have it as their timestamp, so that a release is reproducible.
	created       time.Time
	architectures []string
}

func main() {
	r := &release{}
	flag.StringVar(&r.root, "root", ".", "root directory of the repository")
	flag.StringVar(&r.output, "output", "", "output directory, which must be empty or must not exist")
	flag.StringVar(&r.registry, "registry", "", "image registry, with an optional path")
	flag.StringVar(&r.version, "version", "", "version, which is also the image tag, such as v0.1.0")
	architectures := flag.String("architectures", "amd64,arm64", "architectures, separated by commas")
	key := flag.String("key", "", "file with the ECDSA key for signing the checksums, in PKCS #8 format; if empty, a temporary key is generated")
	onlyImages := flag.Bool("only-images", false, "build only the images")
	push := flag.Bool("push", false, "push images and charts to the registry, with the credentials in Docker's configuration file")
	flag.Parse()
	r.architectures = strings.Split(*architectures, ",")
	slog.SetLogLoggerLevel(slog.LevelWarn) // otherwise Helm reports each symbolic link
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.run(ctx, *key, *onlyImages, *push); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(ctx context.Context, key string, onlyImages, push bool) error {
	if r.output == "" || r.registry == "" || r.version == "" {
		return errors.New("-output, -registry and -version are required")
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	oci, err := layout.Write(filepath.Join(r.output, "oci"), empty.Index)
	if err != nil {
		return fmt.Errorf("creating the image layout: %w", err)
	}
	if err := r.addImages(ctx, oci); err != nil {
		return err
	}
	if !onlyImages {
		if err := r.addAssets(ctx, oci, key); err != nil {
			return err
		}
	}
	if !push {
		return nil
	}
	return r.push(ctx, oci)
}

// addAssets adds everything except the images. The checksums come last, because they cover the other files.
func (r *release) addAssets(ctx context.Context, oci layout.Path, key string) error {
	if err := r.addCharts(oci); err != nil {
		return err
	}
	if err := plain.Write(filepath.Join(r.root, "charts"), r.output, r.registry, r.version); err != nil {
		return err
	}
	if err := r.addPlugin(ctx); err != nil {
		return err
	}
	if _, err := run(ctx, filepath.Join(r.root, "agent", "python"), nil, "python3", "wheel.py", r.output); err != nil {
		return fmt.Errorf("building the Python package: %w", err)
	}
	if err := r.list(oci); err != nil {
		return err
	}
	if err := r.sum(); err != nil {
		return err
	}
	return r.sign(key)
}

// prepare creates the output directory and reads the commit.
func (r *release) prepare(ctx context.Context) error {
	for _, path := range []*string{&r.root, &r.output} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	if old, err := os.ReadDir(r.output); err == nil && len(old) > 0 {
		return fmt.Errorf("output folder %s is not empty", r.output)
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return err
	}
	head, err := run(ctx, r.root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, stamp, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("reading the time of the commit: %w", err)
	}
	r.commit, r.created = commit, time.Unix(seconds, 0).UTC()
	return nil
}

// addImages adds an image for each program.
func (r *release) addImages(ctx context.Context, oci layout.Path) error {
	for _, p := range images {
		all := map[string]v1.Image{}
		for _, arch := range r.architectures {
			content, err := r.program(ctx, p, arch)
			if err != nil {
				return err
			}
			if all[arch], err = r.image(p, arch, content); err != nil {
				return err
			}
		}
		if err := oci.AppendIndex(index(all, r.architectures), reference(p.name+":"+r.version)); err != nil {
			return fmt.Errorf("writing image %s: %w", p.name, err)
		}
	}
	return nil
}

// addCharts writes the chart archives and adds them to the image layout, so that a registry can hold both images and charts.
func (r *release) addCharts(oci layout.Path) error {
	archives := map[string]string{}
	for _, chart := range charts {
		archive, err := r.packageChart(chart)
		if err != nil {
			return err
		}
		archives[chart] = archive
	}
	return r.addChartImages(oci, archives)
}
