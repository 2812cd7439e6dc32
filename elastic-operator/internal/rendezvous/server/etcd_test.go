package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/etcdv2"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

const run = "/torchelastic/p2p/run_uid"

func TestAClientOfEtcdBegins(t *testing.T) {
	w := start(t, nil)
	response, err := http.Get("http://" + w.address + "/v2/machines")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if want := "http://" + w.address; string(body) != want || response.Header.Get(etcdv2.ClusterHeader) == "" {
		t.Errorf("machines: %s, %v", body, response.Header)
	}
	if status, version := w.etcd("GET", "/version", nil); status != 200 || version["etcdserver"] == "" {
		t.Errorf("version: %d, %v", status, version)
	}
	for _, folder := range []string{"/torchelastic/p2p", "/torchelastic/p2p/", jobs.StoreFolder} {
		if status, reply := w.put(folder, "dir", "true", "prevExist", "false"); status != 412 || reply["errorCode"] != float64(tree.CodeExists) {
			t.Errorf("making %s: %d, %v", folder, status, reply)
		}
	}
	// Some releases of torch fail if this one is not there from the beginning.
	if status, reply := w.etcd("GET", "/v2/keys"+jobs.StoreFolder, nil); status != 200 {
		t.Errorf("reading the store's folder: %d, %v", status, reply)
	}
}

func TestKeysOfEtcd(t *testing.T) {
	w := start(t, nil)
	if status, reply := w.put(run, "dir", "true", "prevExist", "false", "ttl", "7200"); status != 201 {
		t.Fatalf("a folder: %d, %v", status, reply)
	}
	if status, reply := w.put(run+"/rdzv/version_counter", "value", "0", "prevExist", "false"); status != 201 {
		t.Fatalf("a key: %d, %v", status, reply)
	}
	status, reply := w.put(run+"/rdzv/version_counter", "value", "1", "prevValue", "7")
	if status != 412 || reply["errorCode"] != float64(tree.CodeCompareFailed) {
		t.Errorf("another value: %d, %v", status, reply)
	}
	if status, reply = w.put(run+"/rdzv/version_counter", "value", "1", "prevValue", "0"); status != 200 || reply["action"] != "compareAndSwap" {
		t.Errorf("the value: %d, %v", status, reply)
	}
	if status, reply = w.etcd("DELETE", "/v2/keys"+run+"/rdzv/version_counter", form("prevValue", "1")); status != 200 {
		t.Errorf("deleting: %d, %v", status, reply)
	}
	if status, reply = w.etcd("GET", "/v2/keys"+run+"/rdzv/version_counter", nil); status != 404 || reply["errorCode"] != float64(tree.CodeNotFound) {
		t.Errorf("reading what was deleted: %d, %v", status, reply)
	}
}

func TestKeysOfOtherJobsAreForbidden(t *testing.T) {
	w := start(t, nil)
	other := jobs.StoreFolder + "/" + base64.StdEncoding.EncodeToString([]byte("torch.rendezvous.other.0/k"))
	for name, request := range map[string][2]string{
		"a run":                      {"PUT", "/torchelastic/p2p/run_other/rdzv"},
		"a state":                    {"GET", "/torch/elastic/rendezvous/other"},
		"a key of a store":           {"PUT", other},
		"a folder that all share":    {"DELETE", "/torch/elastic"},
		"a list of all runs":         {"GET", "/torchelastic/p2p"},
		"the root":                   {"GET", "/"},
		"anything":                   {"PUT", "/x"},
		"a way around":               {"PUT", run + "/../run_other"},
		"a value on a shared folder": {"PUT", "/torch/elastic/store"},
	} {
		t.Run(name, func(t *testing.T) {
			status, reply := w.etcd(request[0], "/v2/keys"+request[1], form("value", "v"))
			if status != 401 || reply["errorCode"] != float64(tree.CodeForbidden) {
				t.Errorf("%d, %v", status, reply)
			}
		})
	}
}

func TestABadRequestIsToldSo(t *testing.T) {
	w := start(t, nil)
	if status, reply := w.put(run+"/k", "ttl", "soon"); status != 400 || reply["errorCode"] != float64(tree.CodeBadField) {
		t.Errorf("%d, %v", status, reply)
	}
	r, _ := http.NewRequest(http.MethodPost, "http://"+w.address+"/v2/keys"+run, nil)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", response.StatusCode)
	}
}

// watch begins one, and returns when its header has come.
func (w *world) watch(path string, pairs ...string) (*json.Decoder, http.Header) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.Cleanup(cancel)
	query := form(append(pairs, "wait", "true")...).Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+"/v2/keys"+path+"?"+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { response.Body.Close() })
	return json.NewDecoder(response.Body), response.Header
}

func TestAWatchHasItsHeaderAtOnceAndItsEventLater(t *testing.T) {
	w := start(t, nil)
	events, header := w.watch(run, "recursive", "true")
	if header.Get(etcdv2.IndexHeader) == "" {
		t.Error("no index")
	}
	w.put(run+"/rdzv/k", "value", "v")
	var event struct {
		Action string
		Node   struct{ Key, Value string }
	}
	if err := events.Decode(&event); err != nil {
		t.Fatal(err)
	}
	if event.Action != "set" || event.Node.Key != run+"/rdzv/k" || event.Node.Value != "v" {
		t.Errorf("%+v", event)
	}
}

func TestAKeyExpiresThoughNobodyAsks(t *testing.T) {
	w := start(t, nil)
	w.put(run+"/k", "value", "v", "ttl", "1")
	events, _ := w.watch(run + "/k")
	var event struct{ Action string }
	if err := events.Decode(&event); err != nil || event.Action != "expire" {
		t.Errorf("%+v, %v", event, err)
	}
}

func TestAWatchThatIsLeftIsForgotten(t *testing.T) {
	w := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.address+"/v2/keys"+run+"/k?wait=true", nil)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	cancel()
	w.until("the watch is forgotten", func() bool {
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		return w.server.tree.Watches() == 0
	})
}

func TestShutdownEndsWatches(t *testing.T) {
	w := start(t, nil)
	events, _ := w.watch(run + "/k")
	began := time.Now()
	w.stop()
	var event map[string]any
	if err := events.Decode(&event); err == nil {
		t.Errorf("an event: %v", event)
	}
	if err := <-w.ended; err != nil || time.Since(began) > patience {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
