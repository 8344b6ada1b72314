package remotepay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"seckill/internal/kit/bulkhead"
	"seckill/internal/kit/signature"
)

const maxAnswer = 64 << 10 // bytes of a body

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
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return answer{}, err // the caller has left: this says nothing about the provider
	}
	p.health.saw(ctx, p, err)
	p.o.Metrics.called(p.o.Name, r.of, time.Since(began), err)
	return a, err
}

func send[T any](ctx context.Context, p *Provider, r request[T]) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	now := time.Now()
	body, err := json.Marshal(message[T]{r.of, now.UTC().Truncate(time.Millisecond), r.data})
	if err != nil {
		return answer{}, err
	}
	res, err := p.post(ctx, r.of+"-"+r.id, p.o.Keys, now, body)
	if err != nil {
		return answer{}, err
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

// post sends a body that is signed with the keys.
func (p *Provider) post(
	ctx context.Context, id string, keys [][]byte, at time.Time, body []byte,
) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", p.o.UserAgent)
	h.Set(signature.IDHeader, id)
	h.Set(signature.TimeHeader, strconv.FormatInt(at.Unix(), 10))
	h.Set(signature.SignatureHeader, signature.Sign(keys, id, at, body))
	res, err := p.client.Do(req)
	if err != nil {
		return nil, failureOf(err)
	}
	return res, nil
}

// begins returns the beginning of an answer, for staff.
func begins(text []byte) string { return string(text[:min(len(text), maxDetail)]) }
