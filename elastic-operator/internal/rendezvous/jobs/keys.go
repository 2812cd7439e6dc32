package jobs

import (
	"encoding/base64"
	"path"
	"strconv"
	"strings"
)

// Protocol is who wrote a rendezvous, as torch names its backends.
type Protocol string

// The protocols.
const (
	C10d   Protocol = "c10d"
	EtcdV2 Protocol = "etcd-v2"
	Etcd   Protocol = "etcd"
)

// Rendezvous is one run of one job over one protocol. It can be the key of a map.
type Rendezvous struct {
	Job      string
	RunID    string
	Protocol Protocol
}

// Ref is what a key is.
type Ref struct {
	Rendezvous
	// State tells that the key is the rendezvous' own state.
	State bool
	// Round is that which the key belongs to; -1 if it belongs to none.
	Round int64
	// Name of a key that the agents of a round have exchanged, as they call it; empty for all others.
	Name string
}

// What torch's keys begin with.
const (
	storeName   = "torch.rendezvous."
	legacyRoot  = "/torchelastic/p2p"
	legacyRun   = legacyRoot + "/run_"
	stateFolder = "/torch/elastic/rendezvous"
	// StoreFolder is where the backend etcd-v2 keeps what the agents of all its jobs exchange. Agents read the folder as a whole.
	StoreFolder = "/torch/elastic/store"
)

// Folders are those that agents of all jobs share, in the tree. They expect them, or make them.
var Folders = []string{legacyRoot, stateFolder, StoreFolder}

// Shared tells whether a path is one of Folders or above one.
func Shared(p string) bool {
	p = path.Clean("/" + p)
	for _, folder := range Folders {
		if p == "/" || p == folder || strings.HasPrefix(folder, p+"/") {
			return true
		}
	}
	return false
}

// Flat tells what a key of TCPStore is; not ok is a key of no job that is served. Clients put a slash before every key.
func (t *Table) Flat(key string) (Ref, bool) {
	return t.stored(strings.TrimPrefix(key, "/"), C10d, true)
}

// Tree tells what a path of etcd is; not ok is one of no job that is served, the shared folders among them.
func (t *Table) Tree(p string) (Ref, bool) {
	p = path.Clean("/" + p)
	if rest, ok := strings.CutPrefix(p, legacyRun); ok {
		return t.legacy(rest)
	}
	if id, ok := strings.CutPrefix(p, stateFolder+"/"); ok {
		return t.ref(id, EtcdV2, Ref{State: true, Round: -1})
	}
	if text, ok := strings.CutPrefix(p, StoreFolder+"/"); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return t.stored(string(key), EtcdV2, false)
		}
	}
	return Ref{}, false
}

// stored reads torch.rendezvous.<id>.<round>/<name>, and, of c10d, torch.rendezvous.<id>.
func (t *Table) stored(key string, protocol Protocol, state bool) (Ref, bool) {
	rest, ok := strings.CutPrefix(key, storeName)
	if !ok {
		return Ref{}, false
	}
	head, name, inRound := strings.Cut(rest, "/")
	if !inRound {
		if !state {
			return Ref{}, false
		}
		return t.ref(head, protocol, Ref{State: true, Round: -1})
	}
	dot := strings.LastIndexByte(head, '.')
	if dot < 0 {
		return Ref{}, false
	}
	round, err := strconv.ParseUint(head[dot+1:], 10, 62)
	if err != nil {
		return Ref{}, false
	}
	return t.ref(head[:dot], protocol, Ref{Round: int64(round), Name: name})
}

// legacy reads what follows run_: <id>, <id>/rdzv/active_version, <id>/rdzv/v_<round>/kv/<name in base64>, and others.
func (t *Table) legacy(rest string) (Ref, bool) {
	id, p, _ := strings.Cut(rest, "/")
	r := Ref{Round: -1, State: p == "rdzv/active_version"}
	if folder, ok := strings.CutPrefix(p, "rdzv/v_"); ok {
		number, below, _ := strings.Cut(folder, "/")
		if round, err := strconv.ParseUint(number, 10, 62); err == nil {
			r.Round = int64(round)
		}
		if text, ok := strings.CutPrefix(below, "kv/"); ok {
			if name, err := base64.StdEncoding.DecodeString(text); err == nil {
				r.Name = string(name)
			}
		}
	}
	return t.ref(id, Etcd, r)
}

func (t *Table) ref(id string, protocol Protocol, r Ref) (Ref, bool) {
	job, ok := t.Job(id)
	r.Rendezvous = Rendezvous{Job: job, RunID: id, Protocol: protocol}
	return r, ok
}

// StateKey is where the rendezvous keeps its state: a key of TCPStore for C10d, a path of etcd for the others.
func (r Rendezvous) StateKey() string {
	switch r.Protocol {
	case C10d:
		return "/" + storeName + r.RunID
	case EtcdV2:
		return stateFolder + "/" + r.RunID
	default:
		return r.RunFolder() + "/active_version"
	}
}

// RunFolder is where the protocol Etcd keeps the state and the rounds.
func (r Rendezvous) RunFolder() string { return legacyRun + r.RunID + "/rdzv" }

// RoundFolder is the folder of a round of the protocol Etcd.
func (r Rendezvous) RoundFolder(round int64) string {
	return r.RunFolder() + "/v_" + strconv.FormatInt(round, 10)
}
