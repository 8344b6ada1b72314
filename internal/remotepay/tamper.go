package remotepay

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"seckill/internal/kit/signature"
)

// Tampered is a call that is not as it should be, to try a provider with.
type Tampered struct {
	Keys [][]byte // nil: those of the provider
	At   time.Time
	Body []byte
}

// Send sends a tampered call, and returns the status of its answer, and its state if it says one.
func (p *Provider) Send(ctx context.Context, t Tampered) (status int, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	if t.Keys == nil {
		t.Keys = p.o.Keys
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.URL.String(), bytes.NewReader(t.Body))
	if err != nil {
		return 0, "", err
	}
	const id = "try"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(signature.IDHeader, id)
	r.Header.Set(signature.TimeHeader, strconv.FormatInt(t.At.Unix(), 10))
	r.Header.Set(signature.SignatureHeader, signature.Sign(t.Keys, id, t.At, t.Body))
	res, err := p.client.Do(r)
	if err != nil {
		return 0, "", failureOf(err)
	}
	var a answer
	_ = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&a) // a refusal may have any form
	return res.StatusCode, a.State, res.Body.Close()
}
