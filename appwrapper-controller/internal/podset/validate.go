package podset

import (
	"fmt"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Check compares what the user declares with what was inferred: no path twice and, if anything was inferred, the same paths and
// counts. The order is free.
func Check(declared, inferred []v1beta2.AppWrapperPodSet) error {
	if len(declared) == 0 {
		return nil
	}
	byPath := map[string]v1beta2.AppWrapperPodSet{}
	for _, set := range declared {
		if _, twice := byPath[set.Path]; twice {
			return fmt.Errorf("multiple DeclaredPodSets with path '%v'", set.Path)
		}
		byPath[set.Path] = set
	}
	if len(inferred) == 0 {
		return nil
	}
	if len(inferred) != len(declared) {
		return fmt.Errorf("DeclaredPodSet count %v differs from inferred count %v", len(declared), len(inferred))
	}
	for _, want := range inferred {
		got, found := byPath[want.Path]
		if !found {
			return fmt.Errorf("PodSet with path '%v' is missing", want.Path)
		}
		if got.Count() != want.Count() {
			return fmt.Errorf("replica count %v differs from inferred count %v for PodSet at path position '%v'", got.Count(), want.Count(), want.Path)
		}
	}
	return nil
}
