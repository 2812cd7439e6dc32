package bootstrap

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapper knows one kind, or nothing but an error.
type mapper struct {
	meta.RESTMapper
	known schema.GroupKind
	err   error
}

func (m mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.err != nil {
		return nil, m.err
	}
	if kind != m.known {
		return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
	}
	return &meta.RESTMapping{}, nil
}

func TestKindsThatTheClusterMustKnow(t *testing.T) {
	known := testKind.GroupKind()
	for name, c := range map[string]struct {
		mapper mapper
		want   string
	}{
		"a kind that is there":               {mapper{known: known}, ""},
		"a kind that is not":                 {mapper{}, "the cluster does not know Configuration of test.holdfast.dev/v1: install the custom resource definition first"},
		"an API server that does not answer": {mapper{err: errors.New("no route")}, "looking for the definition of Configuration: no route"},
	} {
		t.Run(name, func(t *testing.T) {
			err := requireKinds(c.mapper, []schema.GroupVersionKind{testKind})
			if got := text(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}

func TestALooseFileHasItsUnknownKeysNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file, unknown, err string
		port               int
	}{
		"with keys of versions past": {"webhook: {port: 7, colour: red}\nslack: true\n", `unknown field "slack" unknown field "webhook.colour"`, "", 7},
		"with a value that is none":  {"webhook: {port: high}\n", "", "cannot unmarshal", 0},
		"that is no YAML":            {"webhook: {\n", "", "yaml: ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var into testConfig
			unknown, err := ReadLooseConfig(write(t, c.file), &into)
			var lines []string
			for _, u := range unknown {
				lines = append(lines, u.Error())
			}
			if got := strings.Join(lines, " "); got != c.unknown || !strings.Contains(text(err), c.err) || (c.err == "") != (err == nil) {
				t.Errorf("unknown %q, error %v", got, err)
			}
			if c.port != 0 && (into.Webhook.Port == nil || *into.Webhook.Port != c.port) {
				t.Errorf("port %v", into.Webhook.Port)
			}
		})
	}
}
