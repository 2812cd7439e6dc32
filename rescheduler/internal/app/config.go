package app

import (
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

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
	content, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("--config: %w", err)
	}
	var unknown []error
	document, err := yaml.YAMLToJSONStrict(content)
	if err == nil {
		unknown, err = kjson.UnmarshalStrict(document, &c)
	}
	if err == nil && len(unknown) > 0 {
		err = bootstrap.Join(unknown)
	}
	if err != nil {
		return c, fmt.Errorf("--config %s: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	if c.Rescheduling == nil {
		c.Rescheduling = ptr.To(settings.Default())
	}
	return c, nil
}
