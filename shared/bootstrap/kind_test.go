package bootstrap

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var thing = schema.GroupVersionKind{Group: "holdfast.dev", Version: "v1", Kind: "Thing"}

// discovery fails a given number of times before it finds the kind.
type discovery struct {
	meta.RESTMapper
	failures int
	err      error
}

func (d *discovery) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	if d.failures == 0 {
		return &meta.RESTMapping{}, nil
	}
	d.failures--
	return nil, d.err
}

func TestAwaitKindWaits(t *testing.T) {
	unknown := &meta.NoKindMatchError{GroupKind: thing.GroupKind()}
	for name, c := range map[string]struct {
		discovery discovery
		patience  time.Duration
		want      string // part of the error; empty if there is none
	}{
		"at once":                       {discovery{}, 0, ""},
		"after a moment":                {discovery{failures: 2, err: unknown}, time.Minute, ""},
		"after an error of another API": {discovery{failures: 1, err: errors.New("metrics.k8s.io is away")}, time.Minute, ""},
		"never":                         {discovery{failures: -1, err: unknown}, time.Millisecond, "the API server did not serve kind Thing of holdfast.dev/v1 within 1ms: install"},
		"discovery fails":               {discovery{failures: -1, err: errors.New("refused")}, time.Millisecond, "discovering kind Thing of holdfast.dev/v1: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			err := awaitKind(t.Context(), &c.discovery, thing, c.patience)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestAwaitKindStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &discovery{failures: -1, err: &meta.NoKindMatchError{GroupKind: thing.GroupKind()}}
	if err := awaitKind(ctx, d, thing, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
