package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/etcdv2"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

func (s *Server) etcdHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/machines", s.machines)
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, etcdv2.Version)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"health":"true"}`) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hurry(w)
		// The mux would redirect paths that are not clean, and a redirected PUT is a GET.
		if p, ok := strings.CutPrefix(r.URL.Path, etcdv2.Prefix); ok && (p == "" || p[0] == '/') {
			s.keys(w, r, p)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// machines names the only member by the name that the client used; clients drop those they were not told here.
func (s *Server) machines(w http.ResponseWriter, r *http.Request) {
	s.header(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "http://"+r.Host)
}

// hurry bounds the time in which a client takes what is written from now on.
func (s *Server) hurry(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.Patience))
}

func (s *Server) header(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(etcdv2.ClusterHeader, etcdv2.Cluster)
}

func (s *Server) keys(w http.ResponseWriter, r *http.Request, path string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.config.Patience))
	r.Body = http.MaxBytesReader(w, r.Body, int64(4*s.config.Value))
	if err := r.ParseForm(); err != nil {
		s.refuse(w, &tree.Error{Code: tree.CodeBadField, Cause: err.Error()})
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	call, err := etcdv2.Parse(r.Method, path, r.Form)
	if err == nil {
		s.metrics.requests.WithLabelValues(protocolEtcd, call.Kind.String()).Inc()
		err = s.permitCall(call)
	}
	switch {
	case errors.Is(err, etcdv2.ErrMethod):
		http.Error(w, err.Error(), http.StatusMethodNotAllowed)
	case err != nil:
		s.refuse(w, err)
	case call.Kind == etcdv2.Watch:
		s.watch(w, r, call)
	default:
		s.call(w, call)
	}
}

// permitCall refuses keys of jobs that are not served. Of the folders that all share, clients make sure that they are there, which they
// are, and read the one in which the backend etcd-v2 keeps what agents exchange.
func (s *Server) permitCall(c etcdv2.Call) error {
	if _, ok := s.config.Jobs.Tree(c.Path); ok {
		return s.fits(c)
	}
	made := c.Kind == etcdv2.Put && c.Write.Folder && c.Write.Exist == tree.Absent
	read := (c.Kind == etcdv2.Read || c.Kind == etcdv2.Watch) && strings.TrimRight(c.Path, "/") == jobs.StoreFolder
	if jobs.Shared(c.Path) && (made || read) {
		return nil
	}
	s.metrics.refused.WithLabelValues(refusedJob).Inc()
	return &tree.Error{Code: tree.CodeForbidden, Cause: c.Path}
}

func (s *Server) fits(c etcdv2.Call) error {
	limits := s.config.message()
	if len(c.Path) > limits.Key || len(c.Write.Value) > limits.Value {
		return quota.ErrExceeded
	}
	return nil
}

// refuse writes an error as etcd would.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	var refused *tree.Error
	if !errors.As(err, &refused) {
		s.metrics.refused.WithLabelValues(refusedQuota).Inc()
		s.config.Log.Warn("a write is refused", "error", err)
		refused = &tree.Error{Code: tree.CodeInternal, Cause: err.Error()}
	}
	s.header(w)
	w.Header().Set(etcdv2.IndexHeader, strconv.FormatUint(refused.Index, 10))
	w.WriteHeader(etcdv2.ErrorStatus(refused.Code))
	_, _ = w.Write(etcdv2.ErrorBody(refused))
}

func (s *Server) call(w http.ResponseWriter, c etcdv2.Call) {
	event, err := s.carryOut(c)
	if err != nil {
		s.refuse(w, err)
		return
	}
	s.header(w)
	w.Header().Set(etcdv2.IndexHeader, strconv.FormatUint(event.Index, 10))
	w.WriteHeader(etcdv2.Status(event))
	_, _ = w.Write(etcdv2.Body(event))
}

func (s *Server) carryOut(c etcdv2.Call) (*tree.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.scheduleExpiry()
	now := time.Now()
	switch c.Kind {
	case etcdv2.Put:
		ref, _ := s.config.Jobs.Tree(c.Path)
		event, err := s.tree.Put(now, ref.Job, c.Write)
		if err == nil {
			s.wrote(ref)
		}
		return event, err
	case etcdv2.Delete:
		ref, _ := s.config.Jobs.Tree(c.Path)
		event, err := s.tree.Delete(now, c.Removal)
		if err == nil {
			s.wrote(ref)
		}
		return event, err
	default:
		return s.tree.Get(now, c.Path, c.Recursive)
	}
}

// watch answers with the header at once and the event when it happens, as etcd does: a client that has seen the header takes silence for a
// watch that timed out, and one that has not for a server that failed.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, c etcdv2.Call) {
	events := make(chan *tree.Event, 1)
	s.mu.Lock()
	watch, err := s.tree.Watch(time.Now(), c.Path, c.Recursive, c.From, func(e *tree.Event) { events <- e })
	index := s.tree.Index()
	s.scheduleExpiry()
	s.mu.Unlock()
	if err != nil {
		s.refuse(w, err)
		return
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tree.Unwatch(watch)
	}()
	s.header(w)
	w.Header().Set(etcdv2.IndexHeader, strconv.FormatUint(index, 10))
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	s.await(r.Context(), w, events)
}

func (s *Server) await(ctx context.Context, w http.ResponseWriter, events <-chan *tree.Event) {
	select {
	case e := <-events:
		s.hurry(w)
		_, _ = w.Write(etcdv2.Body(e))
	case <-ctx.Done():
	}
}
