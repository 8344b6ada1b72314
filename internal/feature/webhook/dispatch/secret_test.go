package dispatch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/signature"
)

// The example of the specification and of its libraries.
func TestSignAsTheSpecification(t *testing.T) {
	t.Parallel()
	const (
		secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
		want   = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	at := time.Unix(1614265330, 0)
	got, err := Sign([]Secret{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if err != nil || got != want {
		t.Errorf("Sign = %q, %v; want %q", got, err, want)
	}
	both, err := Sign([]Secret{NewSecret(), secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if first, second, two := strings.Cut(both, " "); err != nil || !two || first == second || second != want {
		t.Errorf("with two secrets: %q, %v", both, err)
	}
}

// A text that is no secret signs nothing.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	if _, err := Sign([]Secret{"whsec_MfKQ"}, "id", time.Now(), nil); !errors.Is(err, signature.ErrSecret) {
		t.Errorf("it signs: %v", err)
	}
}
