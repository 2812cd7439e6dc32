package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Render returns the objects that the release would create. It does not contact a cluster.
func (r Release) Render(values Values) ([]*unstructured.Unstructured, error) {
	c, err := loader.LoadDir(r.Chart)
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", r.Chart, err)
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	newest := common.DefaultCapabilities.Copy() // outside the helm program, the default is Kubernetes 1.20
	newest.KubeVersion = common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	all, err := util.ToRenderValues(c, values, options, newest)
	if err != nil {
		return nil, fmt.Errorf("values of chart %s: %w", r.Chart, err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", r.Chart, err)
	}
	var objects []*unstructured.Unstructured
	for file, content := range files {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		found, err := parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func parse(content string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(content)), 4096); ; {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}
