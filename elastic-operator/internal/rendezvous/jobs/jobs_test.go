package jobs

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func table(t testing.TB, entries ...string) *Table {
	t.Helper()
	table, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		entries []string
		want    map[string]string
		err     error
	}{
		"a job with a run id is served under both": {[]string{"ns/a=uid"}, map[string]string{"uid": "ns/a", "a": "ns/a"}, nil},
		"a job without one under its name":         {[]string{"ns/a"}, map[string]string{"a": "ns/a"}, nil},
		"blanks around an entry are none of it":    {[]string{" ns/a=u ", "ns/b=v"}, map[string]string{"u": "ns/a", "v": "ns/b", "a": "ns/a", "b": "ns/b"}, nil},
		"a name of two jobs is nobody's":           {[]string{"x/a=u", "y/a=v"}, map[string]string{"u": "x/a", "v": "y/a"}, nil},
		"a run id wins over a name":                {[]string{"x/a=b", "x/b=u"}, map[string]string{"b": "x/a", "a": "x/a", "u": "x/b"}, nil},
		"no job":                                   {nil, nil, ErrNone},
		"no namespace":                             {[]string{"a=u"}, nil, ErrMalformed},
		"an empty run id":                          {[]string{"ns/a="}, nil, ErrMalformed},
		"a run id that would be a path":            {[]string{"ns/a=u/v"}, nil, ErrMalformed},
		"a run id twice":                           {[]string{"ns/a=u", "ns/b=u"}, nil, ErrTwice},
		"a job twice":                              {[]string{"ns/a=u", "ns/a=v"}, nil, ErrTwice},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.entries)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if c.err == nil {
				if diff := cmp.Diff(c.want, got.byID); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func ref(protocol Protocol, r Ref) *Ref {
	r.Rendezvous = Rendezvous{Job: "ns/a", RunID: "uid.1", Protocol: protocol}
	return &r
}

func TestFlat(t *testing.T) {
	for key, want := range map[string]*Ref{
		"/torch.rendezvous.uid.1":                       ref(C10d, Ref{State: true, Round: -1}),
		"torch.rendezvous.uid.1":                        ref(C10d, Ref{State: true, Round: -1}),
		"/torch.rendezvous.uid.1.0/torchelastic/x":      ref(C10d, Ref{Round: 0, Name: "torchelastic/x"}),
		"/torch.rendezvous.uid.1.12/a":                  ref(C10d, Ref{Round: 12, Name: "a"}),
		"/torch.rendezvous.uid.1.-1/a":                  nil,
		"/torch.rendezvous.uid.1.9999999999999999999/a": nil,
		"/torch.rendezvous.uid":                         nil,
		"/torch.rendezvous.uid.2":                       nil,
		"/torch.rendezvous.none.0/a":                    nil,
		"/torch.rendezvous.uid.1/a":                     nil,
		"/init/":                                        nil,
		"":                                              nil,
		"/torch.rendezvous.":                            nil,
		"/torch.rendezvous./":                           nil,
		"/torch.rendezvous.uid.1.0/../../torch.rendezvous.x/k": ref(C10d, Ref{Round: 0, Name: "../../torch.rendezvous.x/k"}),
	} {
		t.Run("key "+key, func(t *testing.T) { expect(t, want)(table(t, "ns/a=uid.1").Flat(key)) })
	}
}

func TestTree(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	for p, want := range map[string]*Ref{
		"/torch/elastic/rendezvous/uid.1":                                                 ref(EtcdV2, Ref{State: true, Round: -1}),
		"/torch/elastic/rendezvous/other":                                                 nil,
		StoreFolder + "/" + encode([]byte("torch.rendezvous.uid.1.3/a/b")):                ref(EtcdV2, Ref{Round: 3, Name: "a/b"}),
		StoreFolder + "/" + encode([]byte("torch.rendezvous.other.3/a")):                  nil,
		StoreFolder + "/" + encode([]byte("torch.rendezvous.uid.1")):                      nil,
		StoreFolder + "/plain!":                                                           nil,
		StoreFolder:                                                                       nil,
		"/torchelastic/p2p/run_uid.1":                                                     ref(Etcd, Ref{Round: -1}),
		"/torchelastic/p2p/run_uid.1/rdzv":                                                ref(Etcd, Ref{Round: -1}),
		"/torchelastic/p2p/run_uid.1/rdzv/active_version":                                 ref(Etcd, Ref{State: true, Round: -1}),
		"torchelastic//p2p/run_uid.1/rdzv/active_version/":                                ref(Etcd, Ref{State: true, Round: -1}),
		"/torchelastic/p2p/run_uid.1/rdzv/v_4":                                            ref(Etcd, Ref{Round: 4}),
		"/torchelastic/p2p/run_uid.1/rdzv/v_4/rank_0":                                     ref(Etcd, Ref{Round: 4}),
		"/torchelastic/p2p/run_uid.1/rdzv/v_4/kv/" + encode([]byte("torchelastic/agent")): ref(Etcd, Ref{Round: 4, Name: "torchelastic/agent"}),
		"/torchelastic/p2p/run_other":                                                     nil,
		"/torchelastic/p2p/run_uid.1/../run_other":                                        nil,
		"/etcd": nil,
	} {
		t.Run("path "+p, func(t *testing.T) { expect(t, want)(table(t, "ns/a=uid.1").Tree(p)) })
	}
}

func expect(t *testing.T, want *Ref) func(Ref, bool) {
	return func(got Ref, ok bool) {
		t.Helper()
		if ok != (want != nil) {
			t.Fatalf("served: %v", ok)
		}
		if ok && got != *want {
			t.Errorf("got %+v, want %+v", got, *want)
		}
	}
}

func TestShared(t *testing.T) {
	for p, want := range map[string]bool{
		"/": true, "": true, "/torch": true, "/torch/elastic": true, "/torch/elastic/store/": true, "/torchelastic/p2p": true,
		"/torch/elastic/store/x": false, "/tor": false, "/torchelastic/p2p/run_a": false,
	} {
		if Shared(p) != want {
			t.Errorf("%q: %v", p, !want)
		}
	}
}

func TestStateKeyIsAKeyOfTheRendezvousState(t *testing.T) {
	served := table(t, "ns/a=uid.1")
	for protocol, find := range map[Protocol]func(string) (Ref, bool){C10d: served.Flat, EtcdV2: served.Tree, Etcd: served.Tree} {
		want := ref(protocol, Ref{State: true, Round: -1})
		expect(t, want)(find(want.StateKey()))
	}
}

// Whatever the key is: it belongs to a job that is served, or to none.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"/torch.rendezvous.uid.1.0/x", "/torchelastic/p2p/run_uid.1/rdzv/v_1/kv/YQ==", "/torch/elastic/rendezvous/uid.1"} {
		f.Add(seed)
	}
	served := table(f, "ns/a=uid.1")
	f.Fuzz(func(t *testing.T, key string) {
		for _, find := range []func(string) (Ref, bool){served.Flat, served.Tree} {
			if r, ok := find(key); ok && (r.Job != "ns/a" || r.Round < -1 || r.State && r.Name != "") {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Workers that restart in place meet under another id each time; it is the job's, and nobody else's.
func TestTheRunIDOfARestart(t *testing.T) {
	table, err := Parse([]string{"ns/a=0f3a-11", "ns/b=0f3a-11-2"})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"0f3a-11": "ns/a", "0f3a-11-1-0": "ns/a", "0f3a-11-12-345": "ns/a", "0f3a-11-2": "ns/b", "0f3a-11-2-1-7": "ns/b",
		"0f3a-11-1": "", "0f3a-11-1-x": "", "0f3a-11-1-0-1-0": "", "-1-0": "", "other-1-0": "",
	} {
		if got, ok := table.Job(id); got != want || ok != (want != "") {
			t.Errorf("%s is of %q", id, got)
		}
	}
}
