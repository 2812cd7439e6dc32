// Package etcdv2 reads and writes etcd's v2 API, as far as torch's clients use it: keys, folders, times to live, compare-and-swap and watches.
// It does no I/O.
package etcdv2

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

// Prefix is where the keys are.
const Prefix = "/v2/keys"

// ErrMethod is a method that keys do not have here.
var ErrMethod = errors.New("the method is not served")

// Kind is what a call does.
type Kind int

// The kinds.
const (
	Read Kind = iota
	Watch
	Put
	Delete
)

// String is the kind's name in metrics.
func (k Kind) String() string { return [...]string{"read", "watch", "put", "delete"}[k] }

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Read, Watch, Put, Delete} }

// Call is one request about a key.
type Call struct {
	Kind      Kind
	Path      string
	Recursive bool         // of Read and Watch
	From      uint64       // of Watch: the first index, 0 for from now on
	Write     tree.Write   // of Put
	Removal   tree.Removal // of Delete
}

// maxTTL keeps a number of seconds from overflowing a duration.
const maxTTL = 1 << 32

// Parse reads a request; the path is that below Prefix, the form holds the query and, of a PUT, the body. Errors are ErrMethod, or *tree.Error with
// CodeBadField.
func Parse(method, path string, form url.Values) (Call, error) {
	p := &parser{form: form}
	c := Call{Path: path}
	switch method {
	case http.MethodGet:
		c.Recursive, c.From = p.flag("recursive"), p.number("waitIndex")
		if p.flag("wait") {
			c.Kind = Watch
		}
	case http.MethodPut:
		c.Kind, c.Write = Put, p.write(path)
	case http.MethodDelete:
		c.Kind = Delete
		c.Removal = tree.Removal{
			Path: path, Folder: p.flag("dir"), Recursive: p.flag("recursive"), PrevValue: p.text("prevValue"), PrevIndex: p.number("prevIndex"),
		}
	default:
		return Call{}, fmt.Errorf("%w: %s", ErrMethod, method)
	}
	return c, p.err
}

type parser struct {
	form url.Values
	err  error
}

func (p *parser) write(path string) tree.Write {
	w := tree.Write{
		Path: path, Value: p.form.Get("value"), Folder: p.flag("dir"), TTL: p.ttl(), Refresh: p.flag("refresh"),
		PrevValue: p.text("prevValue"), PrevIndex: p.number("prevIndex"),
	}
	if p.form.Get("prevExist") != "" {
		w.Exist = tree.Absent
		if p.flag("prevExist") {
			w.Exist = tree.Present
		}
	}
	if w.Folder {
		w.Value = ""
	}
	if w.Refresh && p.form.Get("value") != "" {
		p.refuse("refresh", "a value cannot be refreshed")
	}
	return w
}

func (p *parser) refuse(field, why string) {
	if p.err == nil {
		p.err = &tree.Error{Code: tree.CodeBadField, Cause: field + ": " + why}
	}
}

func (p *parser) flag(field string) bool {
	text := p.form.Get(field)
	if text == "" {
		return false
	}
	b, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		p.refuse(field, "neither true nor false")
	}
	return b
}

func (p *parser) number(field string) uint64 {
	text := p.form.Get(field)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		p.refuse(field, "not a number")
	}
	return n
}

// text is nil if the field is not there; an empty one is refused, as etcd does, because a client that lost its value should not write.
func (p *parser) text(field string) *string {
	if !p.form.Has(field) {
		return nil
	}
	text := p.form.Get(field)
	if text == "" {
		p.refuse(field, "is required")
	}
	return &text
}

func (p *parser) ttl() *time.Duration {
	text := p.form.Get("ttl")
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxTTL {
		p.refuse("ttl", "not a number of seconds")
		n = 0
	}
	d := time.Duration(n) * time.Second
	return &d
}
