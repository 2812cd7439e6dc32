package app

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// leaseName is the operator's own: the published controller elects by a ConfigMap, which no API server of today serves it for.
const leaseName = "elastic-operator.holdfast.dev"

// Options is what the command line and the configuration file set.
type Options struct {
	bootstrap.Options

	// RendezvousImage of the managed rendezvous server. Empty: jobs have to bring their own.
	RendezvousImage string
	// Agents of jobs that ask for restarts in place.
	Agents plan.Agents
}

// Configuration is the content of --config.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	// RendezvousImage is the same as --rendezvous-image.
	RendezvousImage *string `json:"rendezvousImage,omitempty"`
	// InPlace is what workers get that restart in place.
	InPlace InPlaceConfig `json:"inPlace,omitempty"`
}

// NewOptions has the defaults.
func NewOptions() *Options {
	o := &Options{Options: bootstrap.Defaults()}
	o.Leader.Name = leaseName
	return o
}

const flagRendezvousImage = "rendezvous-image"

// Flags registers the flags.
func (o *Options) Flags(set *pflag.FlagSet) {
	o.Options.Flags(set)
	set.StringVar(&o.RendezvousImage, flagRendezvousImage, o.RendezvousImage,
		"image of the rendezvous server for jobs that name none; without it, they have to")
	set.StringSliceVar(&o.Agents.PullSecrets, "image-pull-secrets", nil,
		"pull Secrets in the namespaces of ElasticJobs, added to the rendezvous server's pod and to workers that get a supervisor")
	inPlaceFlags(set, &o.Agents)
}

// Complete reads the configuration file and returns all that is wrong.
func (o *Options) Complete(set *pflag.FlagSet) error {
	file, err := read(o.ConfigFile)
	if err != nil {
		return err
	}
	if file.RendezvousImage != nil && !set.Changed(flagRendezvousImage) {
		o.RendezvousImage = *file.RendezvousImage
	}
	return bootstrap.Join(append(o.Options.Complete(set, file.Config), completeInPlace(set, &o.Agents, file.InPlace)...))
}

func read(path string) (c Configuration, err error) {
	if path == "" {
		return c, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("--config: %w", err)
	}
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		return c, fmt.Errorf("--config %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	return c, nil
}

// Logging is what the zap flags say.
func (o *Options) Logging() *zap.Options { return &o.Zap }
