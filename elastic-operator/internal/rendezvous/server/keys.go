package server

import (
	"bytes"
	"fmt"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// apply executes a request with permitted keys and returns the reply. The caller holds the lock.
func (s *Server) apply(q tcpstore.Request) ([]byte, error) {
	switch q.Op {
	case tcpstore.OpGet, tcpstore.OpMultiGet:
		return s.read(q.Keys)
	case tcpstore.OpCheck:
		return tcpstore.Checked(s.store.Has(q.Keys)), nil
	case tcpstore.OpCount:
		return tcpstore.Number(int64(s.store.Used().Keys)), nil
	case tcpstore.OpDelete:
		return s.remove(q.Keys[0])
	case tcpstore.OpSet, tcpstore.OpMultiSet:
		return nil, s.write(q.Keys, q.Values)
	}
	if len(q.Keys) == 0 { // the greeting
		return nil, nil
	}
	return s.change(q)
}

// change executes operations that depend on the current value.
func (s *Server) change(q tcpstore.Request) (reply []byte, err error) {
	key := q.Keys[0]
	changed := true
	switch q.Op {
	case tcpstore.OpCompareSet:
		var value []byte
		value, err = s.store.CompareAndSet(key, q.Values[0], q.Values[1])
		reply = tcpstore.Value(value)
		changed = bytes.Equal(value, q.Values[1]) // most attempts fail when many agents join, so parsing the state each time is too expensive
	case tcpstore.OpAdd:
		var sum int64
		sum, err = s.store.Add(key, q.Number)
		reply = tcpstore.Number(sum)
	case tcpstore.OpAppend:
		err = s.store.Append(key, q.Values[0], s.config.Value)
	}
	if err == nil && changed {
		s.wrote(key)
	}
	return reply, err
}

func (s *Server) read(keys []string) (reply []byte, err error) {
	for _, key := range keys {
		value, ok := s.store.Get(key)
		if !ok {
			return nil, fmt.Errorf("%w: %.200q", flat.ErrNoKey, key)
		}
		if len(reply)+len(value) > maxPending { // a request may contain the same key many times
			return nil, fmt.Errorf("%w: the reply to %d keys", tcpstore.ErrTooLarge, len(keys))
		}
		reply = append(reply, tcpstore.Value(value)...)
	}
	return reply, nil
}

func (s *Server) write(keys []string, values [][]byte) error {
	for i, key := range keys {
		if err := s.store.Set(key, values[i]); err != nil {
			return err
		}
		s.wrote(key)
	}
	return nil
}

func (s *Server) remove(key string) ([]byte, error) {
	n := int64(0)
	if s.store.Delete(key) {
		n = 1
	}
	return tcpstore.Number(n), nil
}
