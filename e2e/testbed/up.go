package testbed

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// up is one attempt to bring the testbed into the state described by the options.
type up struct {
	layout   Layout
	options  Options
	nodes    []node
	table    process.Table
	stamps   map[string]string
	started  map[string]time.Time // when this attempt started each component
	progress io.Writer
}

func newUp(layout Layout, options Options, progress io.Writer) *up {
	return &up{
		layout:   layout,
		options:  options,
		nodes:    layout.nodes(options.Nodes),
		table:    process.Table{Dir: layout.processDir()},
		started:  map[string]time.Time{},
		progress: progress,
	}
}

// Up builds missing programs, starts what is not running, and returns once the nodes are Ready and the cluster DNS
// responds. It handles a testbed in any state: absent, complete, damaged, or with different options. It does not
// restart healthy components.
func Up(ctx context.Context, options Options, progress io.Writer) (*Cluster, error) {
	options = options.defaulted()
	if err := options.validate(); err != nil {
		return nil, err
	}
	if err := checkHost(); err != nil {
		return nil, err
	}
	layout, err := NewLayout()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, layout, progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := checkOwner(ctx, layout, progress); err != nil {
		return nil, err
	}
	if err := checkVersion(layout, options); err != nil {
		return nil, err
	}
	u := newUp(layout, options, progress)
	begin := time.Now()
	if err := u.run(ctx); err != nil {
		return nil, fmt.Errorf("starting the testbed: %w", err)
	}
	u.say("the testbed is up after %.1f s", time.Since(begin).Seconds())
	return &Cluster{layout: layout, options: options}, nil
}

// checkVersion returns an error if the running testbed has a different Kubernetes version, because an API server may
// not understand what a newer one has stored.
func checkVersion(layout Layout, options Options) error {
	if !layout.isUp() {
		return nil
	}
	last, err := loadOptions(layout.optionsFile())
	if err != nil {
		return fmt.Errorf("reading the testbed's options: %w", err)
	}
	if last = last.defaulted(); last.Kubernetes != options.Kubernetes {
		return fmt.Errorf("the testbed runs Kubernetes %s: run `testbed down` before it runs %s", last.Kubernetes, options.Kubernetes)
	}
	return nil
}

func (u *up) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		u.build,
		u.prepare,
		u.startStores,
		u.startServers,
		u.ensureObjects,
		u.ensureSandboxImage,
		u.startRest,
		u.dropRedirect,
		u.awaitNodes,
		u.awaitAccount,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (u *up) build(ctx context.Context) error {
	stamps, err := binaries.Build(ctx, u.layout.Bin(), u.options.components(), u.progress)
	u.stamps = stamps
	return err
}

// kubernetes returns the path of a Kubernetes program.
func (u *up) kubernetes(name string) string {
	return u.layout.program(filepath.Join(binaries.KubernetesFolder(u.options.Kubernetes), name))
}

// prepare records what is about to be changed on the host before anything is changed.
func (u *up) prepare(ctx context.Context) error {
	if err := u.layout.create(); err != nil {
		return err
	}
	if err := claim(u.layout); err != nil {
		return err
	}
	if err := noteChanges(u.layout); err != nil {
		return err
	}
	if err := u.options.save(u.layout.optionsFile()); err != nil {
		return err
	}
	if err := u.layout.ensureCertificates(u.nodes); err != nil {
		return err
	}
	if err := systemGroup.Create(); err != nil {
		return err
	}
	if err := apiBridge().Ensure(ctx); err != nil {
		return err
	}
	if err := u.dropNodes(ctx); err != nil {
		return err
	}
	for _, n := range u.nodes {
		if err := u.ensureNode(ctx, n); err != nil {
			return err
		}
	}
	return u.ensureRedirect(ctx)
}

// spec completes the specification of a component that does not belong to a node.
func (u *up) spec(spec process.Spec) process.Spec {
	spec.Log = u.layout.Log(spec.Name)
	spec.Group = systemGroup
	spec.Command = append(spec.Command, u.options.Args[spec.Name]...)
	spec.Inputs = append(spec.Inputs, u.stamps[spec.Name])
	return spec
}

// stopComponent stops a component that is no longer needed, and removes its record.
func (u *up) stopComponent(ctx context.Context, name string, grace time.Duration) error {
	if err := u.table.Get(name).ID.Stop(ctx, grace); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	return u.table.Forget(name)
}

func (u *up) say(format string, args ...any) {
	fmt.Fprintf(u.progress, format+"\n", args...)
}
