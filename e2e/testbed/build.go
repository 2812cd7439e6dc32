package testbed

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// Build only builds the binaries that are missing or out of date. It builds those that the options require, or only
// the named ones. It does not need root.
func Build(ctx context.Context, options Options, only []string, progress io.Writer) error {
	options = options.defaulted()
	if err := options.validate(); err != nil {
		return err
	}
	layout, err := NewLayout()
	if err != nil {
		return err
	}
	components := options.components()
	if len(only) > 0 {
		components = append(components, binaries.Kueue(), binaries.PublishedJobSet(), binaries.PublishedJobSetAgent(), binaries.LeaderWorkerSet(), binaries.Trainer())
		if components, err = named(components, only); err != nil {
			return err
		}
	}
	_, err = binaries.Build(ctx, layout.Bin(), components, progress)
	return err
}

func (o Options) components() []binaries.Component {
	components := binaries.Default(o.Kubernetes)
	if o.KubeProxy {
		components = append(components, binaries.KubeProxy(o.Kubernetes))
	}
	return components
}

func named(components []binaries.Component, names []string) ([]binaries.Component, error) {
	var chosen []binaries.Component
	for _, name := range names {
		i := slices.IndexFunc(components, func(c binaries.Component) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown component %q", name)
		}
		chosen = append(chosen, components[i])
	}
	return chosen, nil
}
