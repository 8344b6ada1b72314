package remotepay

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Send sends a call that is not as it should be, to try a provider with. It returns the status of the answer, and its
// state if it says one.
func (p *Provider) Send(
	ctx context.Context, keys [][]byte, at time.Time, body []byte,
) (status int, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	res, err := p.post(ctx, "try", keys, at, body)
	if err != nil {
		return 0, "", err
	}
	var a answer
	_ = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&a) // a refusal may have any form
	return res.StatusCode, a.State, res.Body.Close()
}
