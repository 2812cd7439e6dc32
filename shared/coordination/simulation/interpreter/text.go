package interpreter

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// number implements tonumber for base 10. The interpreter's own version fails for numbers beyond 64 bits, which a server rounds.
func number(l *lua.LState) int {
	switch v := l.Get(1).(type) {
	case lua.LNumber:
		l.Push(v)
	case lua.LString:
		if n, err := strconv.ParseFloat(strings.TrimSpace(string(v)), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			l.Push(lua.LNumber(n))
			return 1
		}
		l.Push(lua.LNil)
	default:
		l.Push(lua.LNil)
	}
	return 1
}

// format implements string.format for %s and %d, which is all that the functions use. The interpreter's own version takes up a
// fifth of each call.
func format(l *lua.LState) int {
	var text []byte
	arg := 1
	for rest := l.CheckString(1); ; {
		before, after, found := strings.Cut(rest, "%")
		text = append(text, before...)
		if !found {
			l.Push(lua.LString(text))
			return 1
		}
		arg++
		switch {
		case strings.HasPrefix(after, "d"):
			text = strconv.AppendInt(text, int64(l.CheckNumber(arg)), 10)
		case strings.HasPrefix(after, "s"):
			text = append(text, l.ToStringMeta(l.Get(arg)).String()...)
		default:
			l.RaiseError("format %q is not supported", rest)
		}
		rest = after[1:]
	}
}

// match implements string.match, starting at the first byte. The interpreter's own version compiles the pattern in every call.
func match(l *lua.LState) int {
	text := l.CheckString(1)
	found := pattern(l, l.CheckString(2)).FindStringSubmatchIndex(text)
	if found == nil {
		l.Push(lua.LNil)
		return 1
	}
	groups := found[min(2, len(found)-2):] // the whole match if there are no groups
	for i := 0; i < len(groups); i += 2 {
		l.Push(lua.LString(text[groups[i]:groups[i+1]]))
	}
	return len(groups) / 2
}

// find implements string.find, but returns only whether there is a match.
func find(l *lua.LState) int {
	l.Push(lua.LBool(pattern(l, l.CheckString(2)).MatchString(l.CheckString(1))))
	return 1
}

var patterns sync.Map // Lua pattern -> *regexp.Regexp

func pattern(l *lua.LState, source string) *regexp.Regexp {
	if known, ok := patterns.Load(source); ok {
		return known.(*regexp.Regexp)
	}
	text, known := translate(source)
	if !known {
		l.RaiseError("pattern %q is not supported", source)
	}
	translated := regexp.MustCompile(text)
	patterns.Store(source, translated)
	return translated
}

// classes maps the Lua character classes that the functions use to their form within brackets.
var classes = map[byte]string{'d': "0-9", 'u': "A-Z", 'w': "0-9A-Za-z", 'S': `^\t-\r `}

// translate returns the regular expression for a Lua pattern, or false if the pattern contains something that the functions do not
// use. Brackets, repetitions, groups and anchors have the same syntax in both.
func translate(source string) (string, bool) {
	var text strings.Builder
	bracket := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '%':
			i++
			class, known := classes[source[min(i, len(source)-1)]]
			if !known {
				return "", false
			}
			if !bracket {
				class = "[" + class + "]"
			}
			text.WriteString(class)
		case strings.IndexByte(`.-?{}\`, c) >= 0 && !bracket:
			return "", false
		case c == '|' && !bracket:
			text.WriteString(`\|`)
		default:
			bracket = c == '[' || bracket && c != ']'
			text.WriteByte(c)
		}
	}
	return text.String(), true
}
