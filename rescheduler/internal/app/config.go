package app

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// Configuration is the content of --config: the settings that all managers share, and the key rescheduling.
type Configuration struct {
	metav1.TypeMeta  `json:",inline"`
	bootstrap.Config `json:",inline"`

	Rescheduling *settings.Rescheduling `json:"rescheduling,omitempty"`
}

// read reads the file over the defaults. An unknown key is an error, because it may be a misspelled limit.
func read(path string) (Configuration, error) {
	c := Configuration{Rescheduling: ptr.To(settings.Default())}
	if path == "" {
		return c, nil
	}
	unknown, err := bootstrap.ReadLooseConfig(path, &c)
	if err == nil && len(unknown) > 0 {
		err = fmt.Errorf("--config %s: %w", path, bootstrap.Join(unknown))
	}
	if err != nil {
		return c, err
	}
	if c.Rescheduling == nil {
		c.Rescheduling = ptr.To(settings.Default())
	}
	return c, nil
}
