package openid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

const (
	users = 70
	turn  = 10 // who sign in during each fault
	pause = 31 * time.Second

	// staffLife stands for the hour for which staff are signed in.
	staffLife   = time.Minute
	adminSecret = "openid-Secret-of-admins-9876543210-ZYXWVUTSRQP"
)

// buyer is a user who has signed in.
type buyer struct {
	name, token string
	id          int64
}

// TestF53: the provider rotates its keys in a sale, hangs, answers 2 MB, redirects to a private address, and is away.
// Buyers who are signed in go on, those whose key is known sign in, and nobody is somebody else. So do staff, who are
// an admin, and merchants of two shops; once the provider is gone, until their hour is over.
func TestF53(t *testing.T) {
	t.Parallel()
	p := startProvider(t, users, "ada", "olga", "otto")
	file := p.file(t)
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	for range 2 {
		site.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
			"SECKILL_ISSUERS": file, "SECKILL_JWT_ADMIN_SECRET": adminSecret,
			"SECKILL_JWT_ADMIN_MAX_LIFE": staffLife.String(),
		})
	}
	site.Start(t)
	r := &run{t: t, site: site, p: p, ids: map[int64]string{}}
	r.createSale()

	first := r.signIn()
	r.buy(first)
	r.breakKeys(first)
	p.breakKeys(nil)
	p.rotate()
	time.Sleep(pause)
	r.buy(r.signIn())
	r.work(r.staff())
	r.check(first)

	waiting, staff := r.signIn(), r.staff()
	p.goAway()
	r.work(staff)
	r.awaitEnd(staff)
	r.check(first)
	r.buy(waiting)
	t.Logf("%d users signed in, %d fetches of the keys", len(r.ids), p.fetches.Load())
}

// breakKeys has the keys' address answer whatever it should not.
func (r *run) breakKeys(first []buyer) {
	r.t.Helper()
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	r.t.Cleanup(inside.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"answers 2 MB": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), 2<<20))
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusFound)
		},
		"is away": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		fetched := r.p.fetches.Load()
		r.p.breakKeys(answer)
		box.Eventually(r.t, "a fetch by each instance while the provider "+name, func() error {
			err := r.unknownKey()
			if n := r.p.fetches.Load() - fetched; n < int64(len(r.site.Servers)) {
				err = fmt.Errorf("%d fetches", n)
			}
			return err
		})
		r.buy(r.signIn())
		r.work(r.staff())
		r.check(first)
	}
	if n := reached.Load(); n != 0 {
		r.t.Errorf("a private address was asked %d times", n)
	}
}

// run is a sale whose buyers are the provider's users.
type run struct {
	t    *testing.T
	site *box.Site
	p    *provider
	sale int64
	next int

	mu  sync.Mutex
	ids map[int64]string // whose account each is
}

// signIn signs the next ten users in at any instance.
func (r *run) signIn() []buyer {
	r.t.Helper()
	all := make([]buyer, turn)
	for i := range all {
		name := fmt.Sprintf("user-%d", r.next)
		r.next++
		for instance := range r.site.Servers { // both know them as the same
			got := r.site.Client.Must(r.t, http.StatusCreated, box.Request{
				Method: http.MethodPost, URL: r.site.Servers[instance].URL("/session"),
				Body: map[string]string{"token": r.p.signIn(r.t, name)},
			})
			s := box.Decode[struct {
				UserID int64  `json:"userId"`
				Token  string `json:"token"`
			}](r.t, got)
			if all[i].id != 0 && all[i].id != s.UserID {
				r.t.Errorf("%s is %d and %d", name, all[i].id, s.UserID)
			}
			all[i] = buyer{name, s.Token, s.UserID}
		}
		r.mu.Lock()
		if other, taken := r.ids[all[i].id]; taken {
			r.t.Errorf("%s is user %d, as %s is", name, all[i].id, other)
		}
		r.ids[all[i].id] = name
		r.mu.Unlock()
	}
	return all
}

// buy has buyers buy, all at once.
func (r *run) buy(all []buyer) {
	r.t.Helper()
	var at sync.WaitGroup
	for i, b := range all {
		at.Go(func() {
			ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
			defer cancel()
			got, err := r.site.Client.Do(ctx, box.Request{
				Method: http.MethodPost, Token: b.token,
				URL: r.site.Servers[i%len(r.site.Servers)].URL(fmt.Sprintf("/voucher/seckill/%d?wait=10s", r.sale)),
			})
			if err != nil || got.StatusCode != http.StatusCreated {
				r.t.Errorf("%s: %d %s, %v", b.name, got.StatusCode, got.Body, err)
			}
		})
	}
	at.Wait()
}

// check has buyers see their own orders, and nobody else's.
func (r *run) check(all []buyer) {
	r.t.Helper()
	for _, b := range all {
		got := r.site.Client.Must(r.t, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: r.site.URL("/order"), Token: b.token})
		var orders []json.RawMessage
		if err := json.Unmarshal(got.Data, &orders); err != nil || len(orders) != 1 {
			r.t.Errorf("%s has %d orders, %v", b.name, len(orders), err)
		}
	}
}

// unknownKey sends a token with a key that nobody has, which has the instances fetch the keys. It returns an error
// unless they say that they cannot.
func (r *run) unknownKey() error {
	r.t.Helper()
	const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im5vYm9keSJ9." // {"alg":"RS256","kid":"nobody"}
	claims, err := json.Marshal(map[string]any{"iss": r.p.about.Issuer, "sub": "id-of-user-0"})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range r.site.Servers {
		got, err := r.site.Client.Do(r.t.Context(), box.Request{
			Method: http.MethodPost, URL: s.URL("/session"),
			Body: map[string]string{"token": token + encode(string(claims)) + "." + encode(string(make([]byte, 256)))},
		})
		if err != nil || got.StatusCode != http.StatusServiceUnavailable {
			return fmt.Errorf("a token with an unknown key: %d %s, %w", got.StatusCode, got.Body, err)
		}
	}
	return nil
}
