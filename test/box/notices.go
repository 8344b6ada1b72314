package box

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/order/payment"
	"seckill/internal/sandbox"
)

// Tells sends the server a notice of the sandbox, signed with the secret, and expects it to be taken.
func (s *Server) Tells(tb testing.TB, secret string, n payment.Notice) {
	tb.Helper()
	if err := s.Says(tb, secret, n); err != nil {
		tb.Fatalf("%+v: %v", n, err)
	}
}

// Says is Tells, and returns an error if the notice is refused.
func (s *Server) Says(tb testing.TB, secret string, n payment.Notice) error {
	tb.Helper()
	notices, err := sandbox.NewNotices([]byte(secret), time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	body, signature, err := notices.Write(n)
	if err != nil {
		tb.Fatal(err)
	}
	return s.tell(tb.Context(), body, signature)
}

func (s *Server) tell(ctx context.Context, body []byte, signature string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL("/payment/callback"), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set(sandbox.SignatureHeader, signature)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", res.Status)
	}
	return nil
}
