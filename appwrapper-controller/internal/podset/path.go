package podset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// root is the first element of every path and stands for the wrapped object.
const root = "template"

// Lookup returns the value at a path such as template.spec.workers[0].template. The error names the position at which the lookup failed.
func Lookup(object map[string]any, path string) (any, error) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok {
		return nil, errors.New("first element of the path must be 'template'")
	}
	w := walk{at: object, done: root}
	for rest != "" {
		var err error
		switch rest[0] {
		case '[':
			rest, err = w.index(rest)
		case '.':
			rest, err = w.field(rest[1:])
		default:
			err = w.fail("invalid path element '%v'", rest)
		}
		if err != nil {
			return nil, err
		}
	}
	return w.at, nil
}

// Map returns the object at a path.
func Map(object map[string]any, path string) (map[string]any, error) {
	value, err := Lookup(object, path)
	if err != nil {
		return nil, err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("at path position '%v' non-map value", path)
	}
	return m, nil
}

// Exists reports whether the path exists.
func Exists(object map[string]any, path string) bool {
	_, err := Lookup(object, path)
	return err == nil
}

// walk is the current position in a lookup.
type walk struct {
	at   any
	done string
}

func (w *walk) index(rest string) (string, error) {
	end := strings.Index(rest, "]")
	if end < 0 {
		return "", w.fail("invalid array index '%v'", rest)
	}
	i, err := strconv.Atoi(rest[1:end])
	if err != nil {
		return "", w.fail("invalid index expression '%v'", rest[1:end])
	}
	list, ok := w.at.([]any)
	if !ok {
		return "", w.fail("found non-array value")
	}
	if i < 0 || i >= len(list) {
		return "", w.fail("out of bounds index '%v'", i)
	}
	w.at, w.done = list[i], w.done+rest[:end]
	return rest[end+1:], nil
}

// field descends into a field. Apart from its first character, a name has no dots or brackets.
func (w *walk) field(rest string) (string, error) {
	w.done += "."
	end := len(rest)
	if rest != "" {
		if i := strings.IndexAny(rest[1:], ".["); i >= 0 {
			end = i + 1
		}
	}
	name := rest[:end]
	m, ok := w.at.(map[string]any)
	if !ok {
		return "", w.fail("non-map value")
	}
	if w.at, ok = m[name]; !ok {
		return "", w.fail("missing field '%v'", name)
	}
	w.done += name
	return rest[end:], nil
}

func (w *walk) fail(format string, args ...any) error {
	return fmt.Errorf("at path position '%v' "+format, append([]any{w.done}, args...)...)
}
