// Package standin is a server that speaks the part of Stripe's API which seckill-stripe uses, and keeps state: what is
// paid can be refunded, once, and events about it are sent to the endpoints until they are taken. Tests and trials use
// it where no Stripe account is to be had. It is written from Stripe's public documentation, and is no proof of what
// Stripe does.
package standin

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is what goes wrong with a request.
type Fault int8

// The faults.
const (
	None     Fault = iota
	NotNow         // 503, and nothing was done
	TooMany        // 429, and nothing was done
	LostCall       // the connection breaks, and nothing was done
	LostDone       // it was done, and the connection breaks
)

// Options describe an account.
type Options struct {
	Key        string   // requests with other keys are 401
	Currencies []string // that the account takes; the first is its own
	// Base is the stand-in's own address, for the page where buyers pay. It may be set later, with SetBase.
	Base string
	// Fault says what goes wrong with a request; nil: nothing does.
	Fault func(r *http.Request) Fault
	// Fate is the status of a new refund: succeeded, pending or failed; nil: succeeded.
	Fate func() string
	// Saw is called with each request and its body; nil: nobody is.
	Saw func(r *http.Request, body []byte)
	// Retry is the time until an event that was not taken is sent again; 0: half a second.
	Retry time.Duration
	// Client sends events; nil: http.DefaultClient.
	Client *http.Client
}

// Server is the stand-in. It is safe for concurrent use.
type Server struct {
	o       Options
	mux     *http.ServeMux
	sending sync.WaitGroup
	done    chan struct{}

	mu        sync.Mutex
	sessions  []*session // as they were made
	intents   map[string]*intent
	refunds   []*refund
	disputes  []*dispute
	endpoints []*endpoint
	events    []*event
	keys      map[string]saved // by idempotency key
}

// saved is the first answer to an idempotency key.
type saved struct {
	request string
	status  int
	body    []byte
}

// New returns a stand-in. Close ends its sending.
func New(o Options) *Server {
	const retry = 500 * time.Millisecond
	if o.Retry == 0 {
		o.Retry = retry
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	s := &Server{
		o: o, mux: http.NewServeMux(), done: make(chan struct{}),
		intents: map[string]*intent{}, keys: map[string]saved{},
	}
	for pattern, do := range map[string]func(form) (any, *failure){
		"POST /v1/checkout/sessions":             s.createSession,
		"GET /v1/checkout/sessions":              s.listSessions,
		"GET /v1/checkout/sessions/{id}":         s.readSession,
		"POST /v1/checkout/sessions/{id}/expire": s.expireSession,
		"GET /v1/payment_intents/{id}":           s.readIntent,
		"POST /v1/refunds":                       s.createRefund,
		"GET /v1/refunds":                        s.listRefunds,
		"GET /v1/disputes":                       s.listDisputes,
		"GET /v1/account":                        s.readAccount,
		"GET /v1/webhook_endpoints":              s.listEndpoints,
		"POST /v1/webhook_endpoints":             s.createEndpoint,
		"POST /v1/webhook_endpoints/{id}":        s.updateEndpoint,
		"GET /v1/events":                         s.listEvents,
	} {
		s.mux.HandleFunc(pattern, s.api(do))
	}
	s.mux.HandleFunc("GET /pay/{id}", s.page)
	s.mux.HandleFunc("POST /pay/{id}", s.press)
	return s
}

// SetBase sets the stand-in's own address.
func (s *Server) SetBase(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Base = address
}

// Close stops sending events, and waits for those that are under way.
func (s *Server) Close() {
	close(s.done)
	s.sending.Wait()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// form is a request: the parameters of its body or query, and the id in its path.
type form struct {
	url.Values

	id string
}

func (f form) number(name string) int64 {
	n, err := strconv.ParseInt(f.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// under returns the parameters name[…] by what is in the brackets.
func (f form) under(name string) map[string]string {
	all := map[string]string{}
	for key := range f.Values {
		if inner, is := strings.CutPrefix(key, name+"["); is && strings.HasSuffix(inner, "]") {
			all[strings.TrimSuffix(inner, "]")] = f.Get(key)
		}
	}
	return all
}

// invalidRequest is the type of most errors.
const invalidRequest = "invalid_request_error"

// failure is an error of Stripe's.
type failure struct {
	status                     int
	kind, code, param, message string
}

func invalid(param, code, message string, args ...any) *failure {
	return &failure{http.StatusBadRequest, invalidRequest, code, param, fmt.Sprintf(message, args...)}
}

func missing(what, id string) *failure {
	return &failure{
		http.StatusNotFound, invalidRequest, "resource_missing", "id", fmt.Sprintf("No such %s: '%s'", what, id),
	}
}

func (f *failure) body() any {
	return map[string]any{"error": map[string]any{
		"type": f.kind, "code": f.code, "param": f.param, "message": f.message,
	}}
}

// list is a page of objects, newest first.
func list(f form, all []object) any {
	const usual = 10
	limit := int(f.number("limit"))
	if limit == 0 {
		limit = usual
	}
	slices.Reverse(all)
	if after := f.Get("starting_after"); after != "" {
		at := slices.IndexFunc(all, func(o object) bool { return o["id"] == after })
		all = all[at+1:]
	}
	more := len(all) > limit
	return map[string]any{"object": "list", "data": all[:min(limit, len(all))], "has_more": more, "url": "/v1"}
}

type object = map[string]any

// api answers a request as Stripe's API does: keys, idempotency, faults.
func (s *Server) api(do func(form) (any, *failure)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const most = 1 << 20
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if s.o.Saw != nil {
			s.o.Saw(r, body)
		}
		fault := None
		if s.o.Fault != nil {
			fault = s.o.Fault(r)
		}
		switch {
		case r.Header.Get("Authorization") != "Bearer "+s.o.Key:
			fail(w, &failure{http.StatusUnauthorized, invalidRequest, "", "", "Invalid API Key provided: sk_test_*"})
			return
		case fault == NotNow:
			fail(w, &failure{http.StatusServiceUnavailable, "api_error", "", "", "Stripe is not there"})
			return
		case fault == TooMany:
			fail(w, &failure{http.StatusTooManyRequests, invalidRequest, "rate_limit", "", "Too many requests"})
			return
		case fault == LostCall:
			panic(http.ErrAbortHandler)
		}
		values := r.URL.Query()
		if r.Method == http.MethodPost {
			if values, err = url.ParseQuery(string(body)); err != nil {
				fail(w, invalid("", "", "the body cannot be read"))
				return
			}
		}
		status, text, again := s.once(r, values, do)
		if fault == LostDone {
			panic(http.ErrAbortHandler)
		}
		if again {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		write(w, status, text)
	}
}

// once does what a request asks for, or repeats the first answer to its idempotency key.
func (s *Server) once(
	r *http.Request, values url.Values, do func(form) (any, *failure),
) (status int, text json.RawMessage, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, request := r.Header.Get("Idempotency-Key"), r.URL.Path+"?"+values.Encode()
	if known, is := s.keys[key]; is && key != "" {
		if known.request != request {
			f := &failure{
				http.StatusBadRequest, "idempotency_error", "", "", "This key was used with other parameters",
			}
			return f.status, mustJSON(f.body()), false
		}
		return known.status, known.body, true
	}
	answer, failed := do(form{values, r.PathValue("id")})
	if status = http.StatusOK; failed != nil {
		status, answer = failed.status, failed.body()
	}
	text = mustJSON(answer)
	if key != "" && r.Method == http.MethodPost {
		s.keys[key] = saved{request, status, text}
	}
	return status, text, false
}

func mustJSON(of any) json.RawMessage {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	return text
}

func fail(w http.ResponseWriter, f *failure) { write(w, f.status, mustJSON(f.body())) }

func newID(prefix string) string {
	const size = 12
	random := make([]byte, size)
	_, _ = rand.Read(random) // it never fails
	return prefix + hex.EncodeToString(random)
}

func write(w http.ResponseWriter, status int, text json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", newID("req_"))
	w.WriteHeader(status)
	_, _ = w.Write(text) //nolint:gosec // JSON; the caller sees what is missing
}
