package sandbox

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// ErrCrash is the error to return for calls that a crashed controller could not make.
var ErrCrash = errors.New("the controller has crashed")

// Fault returns an error for calls that must fail. Calls have names such as "create Job", "patch status of JobSet" or "apply
// status". For an apply, the object is nil.
type Fault func(call string, object client.Object) error

// FailOn makes the controller's calls fail from now on, according to fault. If fault is nil, no calls fail.
func (s *Sandbox) FailOn(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// called records a call by the controller and returns the error with which it must fail, if any.
func (s *Sandbox) called(call string, object client.Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	if s.fault == nil {
		return nil
	}
	return s.fault(call, object)
}

func (s *Sandbox) through(verb string, o client.Object, call func() error) error {
	if err := s.called(verb+" "+s.kind(o), o); err != nil {
		return err
	}
	return call()
}

func (s *Sandbox) kind(o runtime.Object) string {
	kind, err := apiutil.GVKForObject(o, s.Scheme())
	if err != nil {
		return err.Error()
	}
	return kind.Kind
}

// newClient returns a client for the controller that records its writes and makes them fail if requested.
func (s *Sandbox) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(unwatched{inner}, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.through("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.through("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
			return s.through("delete all", o, func() error { return c.DeleteAllOf(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return s.through("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return s.through("patch", o, func() error { return c.Patch(ctx, o, p, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, of client.Object, opts ...client.SubResourceCreateOption) error {
			return s.through("create "+sub+" of", o, func() error { return c.SubResource(sub).Create(ctx, o, of, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return s.through("update "+sub+" of", o, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourcePatch: s.subResourcePatch,
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := s.called("apply "+sub, nil); err != nil {
				return err
			}
			return c.SubResource(sub).Apply(ctx, o, opts...)
		},
	}), nil
}

// subResourcePatch also records the body of the patch, as "patched" followed by the JSON.
func (s *Sandbox) subResourcePatch(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if err := s.called("patched "+string(data), nil); err != nil {
		return err
	}
	return s.through("patch "+sub+" of", o, func() error { return c.SubResource(sub).Patch(ctx, o, p, opts...) })
}

// Reader returns a reader that records its calls, such as "get Job" or "list PodList", and makes them fail if requested.
func (s *Sandbox) Reader(inner client.Reader) client.Reader { return reader{inner, s} }

type reader struct {
	client.Reader
	s *Sandbox
}

func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := r.s.called("get "+r.s.kind(o), o); err != nil {
		return err
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

func (r reader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.s.called("list "+r.s.kind(list), nil); err != nil {
		return err
	}
	return r.Reader.List(ctx, list, opts...)
}

// unwatched adds the Watch method that the interceptor requires. Controllers watch through the cache.
type unwatched struct{ client.Client }

func (unwatched) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("not in tests")
}
