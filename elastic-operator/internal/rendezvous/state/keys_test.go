package state

import "testing"

func TestParseKey(t *testing.T) {
	for key, want := range map[string]*Key{
		"/torch.rendezvous.uid.1":                              {RunID: "uid.1", Round: -1},
		"torch.rendezvous.uid.1":                               {RunID: "uid.1", Round: -1},
		"/torch.rendezvous.uid.1.0/torchelastic/x":             {RunID: "uid.1", Name: "torchelastic/x"},
		"/torch.rendezvous.uid.1.12/a":                         {RunID: "uid.1", Round: 12, Name: "a"},
		"/torch.rendezvous.uid.1-2-345":                        {RunID: "uid.1-2-345", Round: -1},
		"/torch.rendezvous.uid.1-2-0.7/a":                      {RunID: "uid.1-2-0", Round: 7, Name: "a"},
		"/torch.rendezvous.uid.1.0/../../torch.rendezvous.x/k": {RunID: "uid.1", Name: "../../torch.rendezvous.x/k"},
		"/torch.rendezvous.uid.1.-1/a":                         nil,
		"/torch.rendezvous.uid.1.9999999999999999999/a":        nil,
		"/torch.rendezvous.uid.1-2":                            nil,
		"/torch.rendezvous.uid.1-2-x":                          nil,
		"/torch.rendezvous.uid.1-1-0-1-0":                      nil,
		"/torch.rendezvous.-1-0":                               nil,
		"/torch.rendezvous.uid":                                nil,
		"/torch.rendezvous.uid.2":                              nil,
		"/torch.rendezvous.none.0/a":                           nil,
		"/torch.rendezvous.uid.1/a":                            nil,
		"/torch.rendezvous.":                                   nil,
		"/torch.rendezvous./":                                  nil,
		"/init/":                                               nil,
		"":                                                     nil,
	} {
		t.Run("key "+key, func(t *testing.T) {
			got, ok := ParseKey(key, "uid.1")
			if ok != (want != nil) || ok && got != *want {
				t.Errorf("got %+v, %v", got, ok)
			}
		})
	}
}

func TestKeyOfIsTheKeyOfAState(t *testing.T) {
	if k, ok := ParseKey(KeyOf("uid.1"), "uid.1"); !ok || k.Round != -1 {
		t.Errorf("got %+v, %v", k, ok)
	}
}

// FuzzParseKey checks that every key either belongs to the job or is rejected.
func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"/torch.rendezvous.uid.1.0/x", "/torch.rendezvous.uid.1-2-3", "/torch.rendezvous.uid.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if k, ok := ParseKey(key, "uid.1"); ok && (k.Round < -1 || k.Round == -1 && k.Name != "") {
			t.Errorf("%+v", k)
		}
	})
}
