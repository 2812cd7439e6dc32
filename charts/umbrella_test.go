package charts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/holdfast-project/holdfast/tools/charts/plain"
)

// umbrella renders the umbrella chart as helm does, without the controllers that the values disable.
func umbrella(t *testing.T, values map[string]any) objects {
	t.Helper()
	c := loadChart(t, "holdfast")
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "holdfast", Namespace: "holdfast", IsInstall: true}, plain.Capabilities())
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	var found objects
	for file, content := range files {
		if strings.HasSuffix(file, ".yaml") {
			found = append(found, parse(t, file, content)...)
		}
	}
	return found
}

// A single release with a single registry setting installs all controllers, and no two objects have the same name. The
// chart holdfast-inplace is not included, because it is for clusters with the upstream JobSet controller.
func TestUmbrellaInstallsAllControllers(t *testing.T) {
	global := map[string]any{"imageRegistry": "registry.example/a"}
	all := umbrella(t, map[string]any{"global": global})
	seen := map[string]bool{}
	for _, o := range all {
		key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if seen[key] {
			t.Errorf("%s is rendered twice", key)
		}
		seen[key] = true
	}
	ours := slices.DeleteFunc(slices.Collect(maps.Keys(installed)), func(chart string) bool { return chart == inPlaceChart })
	for _, chart := range ours {
		if !seen["Deployment holdfast/holdfast-"+chart] && !seen["Deployment holdfast/"+chart] {
			t.Errorf("%s is not installed", chart)
		}
	}
	for name, pod := range all.podTemplates(t) {
		if image := pod.Spec.Containers[0].Image; !strings.HasPrefix(image, "registry.example/a/") {
			t.Errorf("%s runs %s", name, image)
		}
	}
	less := umbrella(t, map[string]any{"global": global, "install": map[string]any{"rescheduler": false}})
	var names []string
	for name := range less.podTemplates(t) {
		names = append(names, name)
	}
	if len(names) != len(ours)-1 || slices.Contains(names, "holdfast-rescheduler") {
		t.Errorf("without the rescheduler %v are installed", names)
	}
}
