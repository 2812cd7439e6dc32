package etcdv2

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

// Headers of every reply.
const (
	// IndexHeader is the index of the tree; a watch from the next one misses nothing.
	IndexHeader = "X-Etcd-Index"
	// ClusterHeader names the store. Clients fail when it changes, so it is the same after a restart.
	ClusterHeader = "X-Etcd-Cluster-Id"
)

// Cluster is this server's name of its store.
const Cluster = "686f6c6466617374"

// Version is the reply to GET /version: the API of this line is served, in part.
const Version = `{"etcdserver":"3.4.0","etcdcluster":"3.4.0"}`

type nodeReply struct {
	Key        string      `json:"key"`
	Value      *string     `json:"value,omitempty"`
	Folder     bool        `json:"dir,omitempty"`
	Expiration *time.Time  `json:"expiration,omitempty"`
	TTL        int64       `json:"ttl,omitempty"`
	Nodes      []nodeReply `json:"nodes,omitempty"`
	Modified   uint64      `json:"modifiedIndex"`
	Created    uint64      `json:"createdIndex"`
}

type eventReply struct {
	Action tree.Action `json:"action"`
	Node   nodeReply   `json:"node"`
	Before *nodeReply  `json:"prevNode,omitempty"`
}

type errorReply struct {
	Code    tree.Code `json:"errorCode"`
	Message string    `json:"message"`
	Cause   string    `json:"cause"`
	Index   uint64    `json:"index"`
}

// Body is the reply to a call that succeeded, and the event that a watch was waiting for.
func Body(e *tree.Event) []byte {
	r := eventReply{Action: e.Action, Node: reply(*e.Node)}
	if e.Before != nil {
		before := reply(*e.Before)
		r.Before = &before
	}
	if e.Action == tree.ActionDelete || e.Action == tree.ActionExpire || e.Action == tree.ActionCompareAndDelete {
		r.Node.Value = nil
	}
	return encode(r)
}

func reply(v tree.View) nodeReply {
	r := nodeReply{Key: v.Path, Folder: v.Folder, TTL: v.TTL, Modified: v.Modified, Created: v.Created}
	if !v.Folder {
		r.Value = &v.Value
	}
	if !v.Expires.IsZero() {
		at := v.Expires.UTC()
		r.Expiration = &at
	}
	for _, child := range v.Children {
		r.Nodes = append(r.Nodes, reply(child))
	}
	return r
}

// Status is the HTTP status of a reply: 201 for a key that was not there.
func Status(e *tree.Event) int {
	if e.Before == nil && (e.Action == tree.ActionSet || e.Action == tree.ActionCreate) {
		return http.StatusCreated
	}
	return http.StatusOK
}

// ErrorBody is the reply to a call that was refused.
func ErrorBody(e *tree.Error) []byte {
	return encode(errorReply{Code: e.Code, Message: e.Message(), Cause: e.Cause, Index: e.Index})
}

// ErrorStatus is the HTTP status of it.
func ErrorStatus(c tree.Code) int {
	switch c {
	case tree.CodeNotFound:
		return http.StatusNotFound
	case tree.CodeCompareFailed, tree.CodeExists:
		return http.StatusPreconditionFailed
	case tree.CodeNotFile, tree.CodeReadOnly, tree.CodeNotEmpty:
		return http.StatusForbidden
	case tree.CodeForbidden:
		return http.StatusUnauthorized
	case tree.CodeInternal:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}

// encode cannot fail: the types are texts, numbers, and times that were read from a clock.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}
