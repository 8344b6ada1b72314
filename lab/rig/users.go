package rig

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// secret signs the tokens of all buyers.
const secret = "benchmark-only-8c1f0a6e2d9b47538c1f0a6e2d9b4753"

// Users are the tokens of the users 1, 2, 3, …
type Users [][]byte

// NewUsers signs n tokens, on all processors.
func NewUsers(n int) Users {
	u := make(Users, n)
	expires := time.Now().Add(24 * time.Hour).Unix()
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				u[i] = sign(int64(i+1), expires)
			}
		})
	}
	wg.Wait()
	return u
}

// sign makes a buyer's token, as any identity provider with the secret would.
func sign(user, expires int64) []byte {
	return []byte(signText(fmt.Sprintf(`{"sub":"%d","exp":%d}`, user, expires)))
}

// signText makes a token of claims.
func signText(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(token))
	return token + "." + encode(mac.Sum(nil))
}

func inAnHour() int64 { return time.Now().Add(time.Hour).Unix() }
