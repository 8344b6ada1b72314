package load

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Secret signs everybody's tokens.
const Secret = "benchmark-only-8c1f0a6e2d9b47538c1f0a6e2d9b4753"

// Users are the tokens of the users 1, 2, 3, …
type Users []string

// NewUsers signs n tokens, on all processors.
func NewUsers(n int) Users {
	u := make(Users, n)
	expires := time.Now().Add(24 * time.Hour).Unix()
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				u[i] = sign(int64(i+1), expires, "")
			}
		})
	}
	wg.Wait()
	return u
}

// Token returns a user's token, as any identity provider with the secret would sign it; more has further claims, each
// after a comma.
func Token(user int64, more string) string { return sign(user, time.Now().Add(time.Hour).Unix(), more) }

func sign(user, expires int64, more string) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":"%d","exp":%d%s}`, user, expires, more)
	token := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(Secret))
	mac.Write([]byte(token))
	return token + "." + encode(mac.Sum(nil))
}
