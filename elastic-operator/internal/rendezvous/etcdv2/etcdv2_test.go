package etcdv2

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

func TestParse(t *testing.T) {
	text := func(s string) *string { return &s }
	seconds := func(n int) *time.Duration { d := time.Duration(n) * time.Second; return &d }
	for name, c := range map[string]struct {
		method, form string
		want         Call
	}{
		"a read":                    {"GET", "", Call{}},
		"a read of all below":       {"GET", "recursive=true&quorum=false", Call{Recursive: true}},
		"a watch":                   {"GET", "wait=true&recursive=True&waitIndex=7", Call{Kind: Watch, Recursive: true, From: 7}},
		"a write":                   {"PUT", "value=v", Call{Kind: Put, Write: tree.Write{Value: "v"}}},
		"a key that must be absent": {"PUT", "value=0&prevExist=false&ttl=5", Call{Kind: Put, Write: tree.Write{Value: "0", Exist: tree.Absent, TTL: seconds(5)}}},
		"an empty time is none":     {"PUT", "value=0&ttl=", Call{Kind: Put, Write: tree.Write{Value: "0"}}},
		"a folder":                  {"PUT", "dir=true&prevExist=false", Call{Kind: Put, Write: tree.Write{Folder: true, Exist: tree.Absent}}},
		"a refreshed key":           {"PUT", "refresh=true&ttl=10&prevExist=true", Call{Kind: Put, Write: tree.Write{Refresh: true, Exist: tree.Present, TTL: seconds(10)}}},
		"a compared value":          {"PUT", "value=b&prevValue=a", Call{Kind: Put, Write: tree.Write{Value: "b", PrevValue: text("a")}}},
		"a compared index":          {"PUT", "value=b&prevIndex=4", Call{Kind: Put, Write: tree.Write{Value: "b", PrevIndex: 4}}},
		"a removal":                 {"DELETE", "prevValue=a&recursive=true&dir=true", Call{Kind: Delete, Removal: tree.Removal{PrevValue: text("a"), Recursive: true, Folder: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			form, err := url.ParseQuery(c.form)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(c.method, "/k", form)
			c.want.Path = "/k"
			switch c.want.Kind {
			case Put:
				c.want.Write.Path = "/k"
			case Delete:
				c.want.Removal.Path = "/k"
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ method, form string }{
		"a flag that is none":          {"GET", "wait=perhaps"},
		"an index that is no number":   {"GET", "waitIndex=-1"},
		"a time that is no number":     {"PUT", "ttl=soon"},
		"a time beyond all times":      {"PUT", "ttl=99999999999999"},
		"an empty value to compare":    {"PUT", "value=a&prevValue="},
		"a value that is refreshed":    {"PUT", "value=a&refresh=true"},
		"a removal by no index at all": {"DELETE", "prevIndex=x"},
	} {
		t.Run(name, func(t *testing.T) {
			form, _ := url.ParseQuery(c.form)
			_, err := Parse(c.method, "/k", form)
			var e *tree.Error
			if !errors.As(err, &e) || e.Code != tree.CodeBadField {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Parse("POST", "/k", nil); !errors.Is(err, ErrMethod) {
		t.Errorf("POST: %v", err)
	}
}

// The replies as etcd 3.4 writes them, times apart.
func TestBody(t *testing.T) {
	at := time.Date(2026, 11, 22, 6, 0, 0, 5e8, time.UTC)
	for name, c := range map[string]struct {
		event  tree.Event
		status int
		want   string
	}{
		"a new key": {
			tree.Event{Action: tree.ActionCreate, Node: &tree.View{Path: "/k", Value: "", Created: 4, Modified: 4}},
			201, `{"action":"create","node":{"key":"/k","value":"","modifiedIndex":4,"createdIndex":4}}`,
		},
		"a key that was there": {
			tree.Event{Action: tree.ActionSet, Node: &tree.View{Path: "/k", Value: "b", Created: 5, Modified: 5}, Before: &tree.View{Path: "/k", Value: "a", Created: 4, Modified: 4}},
			200, `{"action":"set","node":{"key":"/k","value":"b","modifiedIndex":5,"createdIndex":5},"prevNode":{"key":"/k","value":"a","modifiedIndex":4,"createdIndex":4}}`,
		},
		"a folder with a key that expires": {
			tree.Event{Action: tree.ActionGet, Node: &tree.View{Path: "/d", Folder: true, Created: 3, Modified: 3, Children: []tree.View{{Path: "/d/k", Value: "v", Expires: at, TTL: 2, Created: 4, Modified: 4}}}},
			200, `{"action":"get","node":{"key":"/d","dir":true,"nodes":[{"key":"/d/k","value":"v","expiration":"2026-11-22T06:00:00.5Z","ttl":2,"modifiedIndex":4,"createdIndex":4}],"modifiedIndex":3,"createdIndex":3}}`,
		},
		"a key that expired": {
			tree.Event{Action: tree.ActionExpire, Node: &tree.View{Path: "/k", Created: 4, Modified: 5}, Before: &tree.View{Path: "/k", Value: "a", Created: 4, Modified: 4}},
			200, `{"action":"expire","node":{"key":"/k","modifiedIndex":5,"createdIndex":4},"prevNode":{"key":"/k","value":"a","modifiedIndex":4,"createdIndex":4}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSpace(string(Body(&c.event))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := Status(&c.event); got != c.status {
				t.Errorf("status %d", got)
			}
		})
	}
}

func TestErrorBody(t *testing.T) {
	got := string(ErrorBody(&tree.Error{Code: tree.CodeNotFound, Cause: "/k", Index: 9}))
	if want := `{"errorCode":100,"message":"Key not found","cause":"/k","index":9}` + "\n"; got != want {
		t.Errorf("got %s", got)
	}
	for code, want := range map[tree.Code]int{
		tree.CodeNotFound: 404, tree.CodeCompareFailed: 412, tree.CodeExists: 412, tree.CodeNotFile: 403, tree.CodeForbidden: 401,
		tree.CodeCleared: 400, tree.CodeBadField: 400, tree.CodeInternal: 500, tree.CodeNotFolder: 400,
	} {
		if got := ErrorStatus(code); got != want {
			t.Errorf("code %d: status %d, want %d", code, got, want)
		}
	}
}

// Whatever the form is: it is read, or refused with one of etcd's errors, and then carried out without a panic.
func FuzzParse(f *testing.F) {
	f.Add("PUT", "/a/b", "value=v&ttl=5&prevExist=false")
	f.Add("PUT", "/a", "dir=true&refresh=true&prevIndex=3")
	f.Add("GET", "/a/b", "wait=true&waitIndex=2&recursive=true")
	f.Add("DELETE", "a", "recursive=true&prevValue=x")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		form, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		call, err := Parse(method, path, form)
		var refused *tree.Error
		if err != nil {
			if !errors.As(err, &refused) && !errors.Is(err, ErrMethod) {
				t.Errorf("got %v", err)
			}
			return
		}
		carryOut(t, call)
	})
}

func carryOut(t *testing.T, call Call) {
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	store := tree.New(1, quota.Limits{})
	if _, err := store.Put(now, "job", tree.Write{Path: "/a/b", Value: "x"}); err != nil {
		t.Fatal(err)
	}
	var e *tree.Event
	var err error
	switch call.Kind {
	case Read:
		e, err = store.Get(now, call.Path, call.Recursive)
	case Watch:
		_, err = store.Watch(now, call.Path, call.Recursive, call.From, func(*tree.Event) {})
	case Put:
		e, err = store.Put(now, "job", call.Write)
	case Delete:
		e, err = store.Delete(now, call.Removal)
	}
	var refused *tree.Error
	if err != nil && !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if e != nil {
		Body(e)
	}
}
