package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	helmregistry "helm.sh/helm/v4/pkg/registry"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

// charts lists the charts that users install: those with a manifest, and the umbrella chart.
var charts = append([]string{"holdfast"}, plain.Charts...)

// packageChart writes a chart archive with the release version and returns its path.
func (r *release) packageChart(chartName string) (string, error) {
	loaded, err := loader.LoadDir(filepath.Join(r.root, "charts", chartName))
	if err != nil {
		return "", fmt.Errorf("loading chart %s: %w", chartName, err)
	}
	r.stamp(loaded)
	file, err := util.Save(loaded, r.output)
	if err != nil {
		return "", fmt.Errorf("packaging chart %s: %w", chartName, err)
	}
	return file, nil
}

// stamp sets the versions of a chart and its dependencies, and the timestamps of all files, so that packaging is
// reproducible.
func (r *release) stamp(c *chart.Chart) {
	c.Metadata.Version, c.Metadata.AppVersion = r.chartVersion(), r.version
	for _, dependency := range c.Metadata.Dependencies {
		dependency.Version = r.chartVersion()
	}
	c.ModTime, c.SchemaModTime = r.created, r.created
	for _, files := range [][]*common.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			f.ModTime = r.created
		}
	}
	for _, dependency := range c.Dependencies() {
		r.stamp(dependency)
	}
}

// chartVersion returns the version in SemVer notation.
func (r *release) chartVersion() string { return strings.TrimPrefix(r.version, "v") }

// addChartImages adds the archives of charts to the image layout in Helm's format. Helm can push only to registries, so a
// temporary registry is started.
func (r *release) addChartImages(oci layout.Path, archives map[string]string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP())
	if err != nil {
		return fmt.Errorf("creating Helm's client: %w", err)
	}
	for _, chartName := range charts {
		content, err := os.ReadFile(archives[chartName])
		if err != nil {
			return err
		}
		path := "charts/" + chartName + ":" + r.chartVersion()
		to, err := name.ParseReference(listener.Addr().String() + "/" + path)
		if err != nil {
			return fmt.Errorf("naming chart %s: %w", chartName, err)
		}
		if _, err := client.Push(content, to.String(), helmregistry.PushOptCreationTime(r.created.Format(time.RFC3339))); err != nil {
			return fmt.Errorf("converting chart %s to an image: %w", chartName, err)
		}
		image, err := remote.Image(to)
		if err != nil {
			return fmt.Errorf("reading chart %s: %w", chartName, err)
		}
		if err := oci.AppendImage(image, reference(path)); err != nil {
			return fmt.Errorf("writing chart %s: %w", chartName, err)
		}
	}
	return nil
}
