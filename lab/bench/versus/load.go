package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/internal/httpload"
)

// secret signs the tokens of both builds.
const secret = "versus-only-8c1f0a6e2d9b47538c1f0a6e2d9b4753"

// The most answers a second for which there are tokens.
const (
	mostAccepted = 40_000
	mostRefused  = 120_000
)

// tokens is how many a build may need in a round.
func (p plan) tokens() int {
	return int(mostAccepted*(p.warmUp+p.accept+p.backlog).Seconds() + mostRefused*p.refuse.Seconds())
}

// users are the tokens of the users 1, 2, 3, …
type users []string

// newUsers signs n tokens, on all processors: while something is measured there is no time for it.
func newUsers(n int) users {
	all := make(users, n)
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				all[i] = sign(int64(i+1), "")
			}
		})
	}
	wg.Wait()
	return all
}

// sign makes a user's token with more claims.
func sign(user int64, more string) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":"%d","exp":%d%s}`, user, time.Now().Add(24*time.Hour).Unix(), more)
	token := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode([]byte(claims))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(token))
	return token + "." + encode(mac.Sum(nil))
}

// load is buyers at an instance: each asks once, and the next one takes their connection when they have been answered.
type load struct {
	at          *instance
	users       users
	next        atomic.Int64 // the user whose turn it is, from 0
	connections int
}

// burst is what came of some of them.
type burst struct {
	latencies []time.Duration // of each answer
	took      time.Duration
}

func (b *burst) answered() int64 { return int64(len(b.latencies)) }

// add adds what came of others, later.
func (b *burst) add(more burst) {
	b.latencies, b.took = append(b.latencies, more.latencies...), b.took+more.took
}

// rate is answers a second.
func (b *burst) rate() float64 { return float64(len(b.latencies)) / b.took.Seconds() }

// p99 is in milliseconds.
func (b *burst) p99() float64 {
	slices.Sort(b.latencies)
	return float64(b.latencies[len(b.latencies)*99/100].Microseconds()) / 1000
}

// errTired says that the tokens did not suffice.
var errTired = errors.New("there are not enough tokens for this machine: lower -duration")

// buy lets users buy for some time. All must be answered with the status.
func (l *load) buy(ctx context.Context, voucher int64, status int, d time.Duration) (b burst, err error) {
	path := "/voucher/seckill/" + strconv.FormatInt(voucher, 10)
	latencies := make([][]time.Duration, l.connections)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.connections {
		group.Go(func() error {
			c, err := httpload.New(l.at.url, 20*time.Second)
			if err != nil {
				return err
			}
			defer c.Close()
			for asked := time.Now(); (asked.Sub(began) < d || len(latencies[i]) == 0) && ctx.Err() == nil; asked = time.Now() { // one each at least
				user := l.next.Add(1) - 1
				if user >= int64(len(l.users)) {
					return errTired
				}
				a, err := c.Do(ctx, httpload.Request{Method: http.MethodPost, Path: path, Token: l.users[user]})
				if err == nil && a.Status != status {
					err = fmt.Errorf("answered %d, want %d: %.300s", a.Status, status, a.Body)
				}
				if err != nil {
					return fmt.Errorf("user %d: %w", user+1, err)
				}
				latencies[i] = append(latencies[i], time.Since(asked))
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	all := slices.Concat(latencies...)
	if err == nil && len(all) == 0 {
		err = errors.New("nobody was answered")
	}
	if err != nil {
		return b, err
	}
	return burst{all, time.Since(began)}, nil
}
