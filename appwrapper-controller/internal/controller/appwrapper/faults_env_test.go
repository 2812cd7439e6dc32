//go:build envtest

package appwrapper

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// errCrash is what a call returns that the controller did not live to make.
var errCrash = errors.New("the controller has crashed")

// newClient is the controller's client. All its writes are recorded and may be made to fail before they reach the API server.
func (w *world) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(unwatched{inner}, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return w.through("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.through("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.through("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			data, err := p.Data(o)
			if err != nil {
				return err
			}
			if err := w.called("patched "+string(data), nil); err != nil {
				return err
			}
			return w.through("patch "+sub+" of", o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
		},
	}), nil
}

func (w *world) through(verb string, o client.Object, call func() error) error {
	if err := w.called(verb+" "+o.GetObjectKind().GroupVersionKind().Kind, o); err != nil {
		return err
	}
	return call()
}

// reader is the controller's live reader.
type reader struct {
	client.Reader
	w *world
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := r.w.called("get "+o.GetObjectKind().GroupVersionKind().Kind, o); err != nil {
		return err
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.w.called(fmt.Sprintf("list %T", list), nil); err != nil {
		return err
	}
	return r.Reader.List(ctx, list, opts...)
}

// unwatched satisfies the interceptor; controllers watch through the cache.
type unwatched struct{ client.Client }

func (unwatched) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("not in tests")
}
