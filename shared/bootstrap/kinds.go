package bootstrap

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// requireKinds turns an endless retry of the caches into one clear error.
func requireKinds(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) error {
	for _, kind := range kinds {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the cluster does not know %s of %s: install the custom resource definition first", kind.Kind, kind.GroupVersion())
		}
		if err != nil {
			return fmt.Errorf("looking for the definition of %s: %w", kind.Kind, err)
		}
	}
	return nil
}
