package podset

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// root is the first element of every path and stands for the wrapped object.
const root = "template"

// element matches the next element of a path: a field or an index. Only the first character of a name may be a dot or an opening
// bracket.
var element = regexp.MustCompile(`^(?:\.((?s:.?)[^.\[]*)|\[([^\]]*)\])`)

// Lookup returns the value at a path such as template.spec.workers[0].template. The error names the position at which the lookup failed.
func Lookup(object map[string]any, path string) (any, error) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok {
		return nil, errors.New("first element of the path must be 'template'")
	}
	var value any = object
	for rest != "" {
		done, next := path[:len(path)-len(rest)], element.FindStringSubmatch(rest)
		var err error
		switch {
		case next == nil:
			err = fmt.Errorf("invalid path element '%v'", rest)
		case rest[0] == '.':
			value, err = field(value, next[1])
		default:
			value, err = item(value, next[2])
		}
		if err != nil {
			return nil, fmt.Errorf("at path position '%v' %w", done, err)
		}
		rest = rest[len(next[0]):]
	}
	return value, nil
}

func field(of any, name string) (any, error) {
	m, ok := of.(map[string]any)
	if !ok {
		return nil, errors.New("non-map value")
	}
	value, ok := m[name]
	if !ok {
		return nil, fmt.Errorf("missing field '%v'", name)
	}
	return value, nil
}

func item(of any, index string) (any, error) {
	i, err := strconv.Atoi(index)
	if err != nil {
		return nil, fmt.Errorf("invalid index expression '%v'", index)
	}
	list, ok := of.([]any)
	if !ok {
		return nil, errors.New("found non-array value")
	}
	if i < 0 || i >= len(list) {
		return nil, fmt.Errorf("out of bounds index '%v'", i)
	}
	return list[i], nil
}

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

func Exists(object map[string]any, path string) bool {
	_, err := Lookup(object, path)
	return err == nil
}
