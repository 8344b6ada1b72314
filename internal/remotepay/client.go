package remotepay

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/dialguard"
	"seckill/internal/kit/signature"
)

const (
	dialTimeout = 3 * time.Second
	tlsTimeout  = 5 * time.Second
	idleTimeout = 30 * time.Second
	maxAnswer   = 64 << 10 // bytes of a body
	maxHeader   = 16 << 10 // bytes
	idleConns   = 32
)

func newClient(g dialguard.Guard, conf *tls.Config, secure bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: g.Control(secure)}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no Proxy: it would be dialled, and the provider's address not checked
			DialContext: dialer.DialContext, TLSClientConfig: conf, TLSHandshakeTimeout: tlsTimeout,
			MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeader,
			DisableCompression: true, ForceAttemptHTTP2: secure,
		},
	}
}

// request is one call.
type request[T any] struct {
	of    string
	id    string // of what it is about: its repetitions have the same webhook-id
	data  T
	check func(answer) error // returns a *CallError for an answer that cannot be used
}

// call makes one call and returns a clear answer, or why there is none: a *CallError, or the error of the caller's
// context, or of the provider's permits.
func call[T any](ctx context.Context, p *Provider, class bulkhead.Class, r request[T]) (answer, error) {
	permit, err := p.permits.Acquire(bulkhead.With(ctx, class))
	if err != nil {
		return answer{}, err
	}
	defer permit.Release()
	began := time.Now()
	a, err := send(ctx, p, r)
	if err != nil && ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return answer{}, err // the caller has left: this says nothing about the provider
	}
	p.health.saw(ctx, p, err)
	p.o.Observer.Called(p.o.Name, r.of, time.Since(began), err)
	return a, err
}

func send[T any](ctx context.Context, p *Provider, r request[T]) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	now := time.Now()
	body, err := encode(r.of, now, r.data)
	if err != nil {
		return answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.URL.String(), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	id := r.of + "-" + r.id
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", p.o.UserAgent)
	h.Set(signature.IDHeader, id)
	h.Set(signature.TimeHeader, strconv.FormatInt(now.Unix(), 10))
	h.Set(signature.SignatureHeader, signature.Sign(p.o.Keys, id, now, body))
	res, err := p.client.Do(req)
	if err != nil {
		return answer{}, failureOf(err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, failureOf(err)
	case res.StatusCode >= http.StatusMultipleChoices && res.StatusCode < http.StatusBadRequest:
		return answer{}, &CallError{Code: Redirect, Status: res.StatusCode}
	case res.StatusCode != http.StatusOK:
		return answer{}, &CallError{Code: Status, Status: res.StatusCode, Detail: begins(text)}
	case len(text) > maxAnswer:
		return answer{}, &CallError{Code: TooLarge}
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return answer{}, &CallError{Code: Unreadable, Detail: begins(text)}
	}
	return a, r.check(a)
}

// begins returns the beginning of an answer, for staff.
func begins(text []byte) string { return string(text[:min(len(text), maxDetail)]) }
