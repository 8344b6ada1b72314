// Package sender sends webhooks over HTTP. Owners of endpoints choose the URLs, so neither a URL nor an answer is
// trusted: every address is checked after its name was looked up, at the moment when it is dialled (a name may lead
// elsewhere a moment later); redirects are not followed; no proxy of the environment is used; only a small part of an
// answer is read, and only its status is kept.
package sender

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/dialguard"
)

const (
	restTimeout = time.Second // an answer, from its first byte to its last
	maxAnswer   = 16 << 10    // bytes of a body that are read, so that the connection can be used again
)

// Sender sends the messages of package dispatch. It is safe for concurrent use.
type Sender struct {
	guard         dialguard.Guard
	plain, secure *http.Client
	userAgent     string
}

// Options are the options of a sender.
type Options struct {
	Allowed   []netip.Prefix // networks that may be dialled besides the public Internet, also without TLS
	UserAgent string
	TLS       *tls.Config // nil: the system's authorities

	names *net.Resolver // nil: the system's; tests have their own
}

// New returns a sender. Close ends its unused connections.
func New(o Options) *Sender {
	g := dialguard.New(o.Allowed)
	return &Sender{
		guard: g, plain: g.Client(false, nil, o.names), secure: g.Client(true, o.TLS, o.names), userAgent: o.UserAgent,
	}
}

// Close ends the connections that are not in use.
func (s *Sender) Close() {
	s.plain.CloseIdleConnections()
	s.secure.CloseIdleConnections()
}

// Never returns why no event can ever reach the URL, or the zero Failure; it is for dispatch.Admin.
func (s *Sender) Never(u *url.URL) dispatch.Failure {
	err := s.guard.Never(u.Hostname(), u.Scheme == "https")
	if err == nil {
		return dispatch.Failure{}
	}
	return ofAddress(err)
}

// errLate cancels a request whose answer has begun but takes longer than restTimeout.
var errLate = errors.New("the rest of the answer is late")

// Send is a dispatch.Sender. The caller's context bounds it. An answer that has begun must end within
// restTimeout: otherwise a receiver that sends it byte by byte would occupy one of the endpoint's few lanes until the
// context ends.
func (s *Sender) Send(ctx context.Context, m dispatch.Message) dispatch.Failure {
	signature, err := dispatch.Sign(m.Secrets, m.ID, m.At, m.Body)
	if err != nil {
		return dispatch.Failure{Code: dispatch.Other, Detail: err.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() {
		time.AfterFunc(restTimeout, func() { cancel(errLate) }) // no effect once Send has returned
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return dispatch.Failure{Code: dispatch.Other, Detail: "the URL cannot be used"}
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.userAgent)
	h.Set("Webhook-Id", m.ID)
	h.Set("Webhook-Timestamp", strconv.FormatInt(m.At.Unix(), 10))
	h.Set("Webhook-Signature", signature)
	if m.Trace != "" {
		h.Set("Traceparent", string(m.Trace))
	}
	to := s.secure
	if req.URL.Scheme == "http" {
		to = s.plain
	}
	res, err := to.Do(req)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errLate):
		return dispatch.Failure{Code: dispatch.Timeout}
	case err != nil:
		return failureOf(err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // read only to reuse the connection: the status is known
	_ = res.Body.Close()
	switch {
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return dispatch.Failure{}
	case res.StatusCode == http.StatusGone:
		return dispatch.Failure{Code: dispatch.Gone, Status: res.StatusCode}
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return dispatch.Failure{Code: dispatch.Redirect, Status: res.StatusCode}
	}
	return dispatch.Failure{Code: dispatch.Status, Status: res.StatusCode}
}
