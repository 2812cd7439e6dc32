// Package permissions determines which permissions the charts grant to our programs, and saves which of them each
// end-to-end suite has used.
package permissions

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/e2e/framework/audit"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

// chart is one of our charts with all of its programs enabled.
type chart struct {
	values helm.Values
	// programs maps each role, in a release named r, to the user agent of the program that holds it.
	programs map[string]string
}

// namespace is the namespace of the release and its accounts. A Role in any other namespace, such as the one for the
// scheduler's Lease, counts as a permission in all namespaces.
const namespace = "r"

// others represents programs that are not ours.
const others = ""

var charts = map[string]chart{
	"jobset-controller": {
		values: helm.Values{"orchestrator": helm.Values{"enabled": true}, "valkey": helm.Values{"enabled": true}},
		programs: map[string]string{
			"r-jobset-controller-manager": "jobset", "r-jobset-controller-orchestrator": "orchestrator", "r-jobset-controller-orchestrator-store": "orchestrator",
		},
	},
	"appwrapper-controller": {programs: map[string]string{"r-appwrapper-controller-manager": "appwrapper"}},
	"elastic-operator": {
		values: helm.Values{"kueue": helm.Values{"enabled": true}},
		programs: map[string]string{
			"r-elastic-operator-manager": "elastic-operator", "r-elastic-operator-kueue": "elastic-kueue",
			"r-elastic-operator-kueue-elasticjob-owners": others, // Kueue's own manager
		},
	},
	"rescheduler": {
		values:   helm.Values{"scheduler": helm.Values{"enabled": true}},
		programs: map[string]string{"r-rescheduler-manager": "rescheduler", "r-rescheduler-owners": "rescheduler", "holdfast-scheduler": "rescheduler-scheduler"},
	},
}

// withRegistry adds the values that every chart requires.
func withRegistry(values helm.Values) helm.Values {
	all := helm.Values{"global": helm.Values{"imageRegistry": "registry.example"}}
	maps.Copy(all, values)
	return all
}

// Granted returns the permissions that the roles of all charts grant to our programs. root is the root of the
// repository. Roles without a binding are for users and are left out.
func Granted(root string) ([]audit.Grant, error) {
	var all []audit.Grant
	for name, c := range charts {
		objects, err := helm.Release{Name: "r", Namespace: namespace, Chart: filepath.Join(root, "charts", name)}.Render(withRegistry(c.values))
		if err != nil {
			return nil, err
		}
		of, err := c.granted(objects)
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", name, err)
		}
		all = append(all, of...)
	}
	audit.Sort(all)
	return all, nil
}

func (c chart) granted(objects []*unstructured.Unstructured) ([]audit.Grant, error) {
	bound := bound(objects)
	var all []audit.Grant
	for _, o := range objects {
		if kind := o.GetKind(); (kind != "Role" && kind != "ClusterRole") || !bound[kind+" "+o.GetName()] {
			continue
		}
		program, known := c.programs[o.GetName()]
		if !known {
			return nil, fmt.Errorf("unknown program of %s %s", o.GetKind(), o.GetName())
		}
		role := &rbacv1.Role{} // a ClusterRole has the same rules field
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			return nil, err
		}
		if program == others {
			continue
		}
		all = append(all, audit.Grants(program, o.GetKind() == "Role" && o.GetNamespace() == namespace, role.Rules)...)
	}
	return all, nil
}

// bound returns the roles that are bound to an account, as kind and name.
func bound(objects []*unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	for _, o := range objects {
		if strings.HasSuffix(o.GetKind(), "RoleBinding") {
			kind, _, _ := unstructured.NestedString(o.Object, "roleRef", "kind")
			name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			found[kind+" "+name] = true
		}
	}
	return found
}
