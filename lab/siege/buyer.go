package siege

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"seckill/internal/feature/guard/challenge"
	"seckill/test/box"
)

// patience is how often a person, or a bot, asks again where they are told to wait.
const patience = 3

// proxy is the address that the server trusts.
const proxy = "127.0.0.1"

// lines are connections from addresses of this machine, shared by those who come from the same one.
type lines struct {
	mu sync.Mutex
	of map[string]*http.Client
}

func (l *lines) from(address string) *http.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.of[address]
	if c == nil {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		c = &http.Client{
			Timeout: time.Minute,
			Transport: &http.Transport{
				DialContext: dialer.DialContext, MaxIdleConnsPerHost: 128, MaxConnsPerHost: 128,
			},
		}
		l.of[address] = c
	}
	return c
}

func (l *lines) close() {
	for _, c := range l.of {
		c.CloseIdleConnections()
	}
}

// buyer is one account in a sale.
type buyer struct {
	kind    *kind
	sale    *sale
	token   string
	address string
	random  *rand.Rand
	ticket  string
	won     bool
	heard   string // the last refusal's code
}

func newBuyer(s *sale, k *kind, i int, user int64, seed uint64) *buyer {
	claims := box.Claims(user, "")
	made := time.Now().AddDate(0, 0, -1)
	if k.old {
		made = time.Now().AddDate(-1, 0, 0)
	}
	claims["since"], claims["level"] = made.Unix(), 2
	return &buyer{
		kind: k, sale: s, token: box.Sign(box.Secret, claims), address: k.address(i),
		random: rand.New(rand.NewPCG(seed, uint64(user))),
	}
}

// answer is what a buyer reads of one.
type answer struct {
	status     int
	Code       string `json:"code"`
	retryAfter time.Duration
	Data       struct {
		Ticket     string              `json:"ticket"`
		UsableFrom time.Time           `json:"usableFrom"`
		Challenge  challenge.Challenge `json:"challenge"`
	} `json:"data"`
}

// post sends a request, which takes the buyer's line to arrive.
func (b *buyer) post(ctx context.Context, path string, header map[string]string) (answer, error) {
	sleep(ctx, b.kind.line(b.random.Float64()))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.sale.server.URL(path), http.NoBody)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	for name, value := range header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	from := b.address
	if !b.kind.direct {
		r.Header.Set("X-Forwarded-For", b.address)
		from = proxy
	}
	reply, err := b.sale.lines.from(from).Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = reply.Body.Close() }() // it is read to its end
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: reply.StatusCode}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&a); err != nil {
		return answer{}, fmt.Errorf("%d %s: %w", reply.StatusCode, body, err)
	}
	seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
	a.retryAfter = time.Duration(seconds) * time.Second
	return a, nil
}

// prepare fetches a ticket, where the sale has them, and solves what is to be solved for it.
func (b *buyer) prepare(ctx context.Context) error {
	solution := ""
	for tries := 0; ctx.Err() == nil; {
		a, err := b.post(ctx, fmt.Sprintf("/voucher/seckill/%d/ticket", b.sale.id),
			map[string]string{"X-Seckill-Altcha": solution})
		switch {
		case err != nil:
			return err
		case a.Data.Ticket != "":
			b.ticket = a.Data.Ticket
			return nil
		case a.Code == "CHALLENGE_REQUIRED":
			if solution, err = b.solve(ctx, a.Data.Challenge); err != nil {
				return err
			}
		case a.status == http.StatusServiceUnavailable, a.mayAsk() && tries < patience:
			tries++
			sleep(ctx, a.retryAfter)
		default:
			b.heard = a.Code
			return nil
		}
	}
	return ctx.Err()
}

// mayAsk reports whether the buyer is told to ask again soon.
func (a answer) mayAsk() bool { return a.retryAfter > 0 && a.retryAfter < time.Minute }

// solve takes a telephone so long for each try, and a bot's machine as long as it takes.
func (b *buyer) solve(ctx context.Context, c challenge.Challenge) (string, error) {
	began := time.Now()
	p, err := challenge.Solve(ctx, c)
	if err != nil {
		return "", err
	}
	if b.kind.try > 0 {
		sleep(ctx, time.Duration(1+p.Solution.Counter)*b.kind.try-time.Since(began))
	}
	return p.Encode()
}

// buy presses the button once the sale has begun, and again where the buyer is told to.
func (b *buyer) buy(ctx context.Context) error {
	sleep(ctx, time.Until(b.sale.begin)+b.kind.reaction(b.random.Float64()))
	for tries := 0; ctx.Err() == nil; {
		a, err := b.post(ctx, fmt.Sprintf("/voucher/seckill/%d", b.sale.id),
			map[string]string{"X-Seckill-Ticket": b.ticket})
		switch {
		case err != nil:
			return err
		case a.status < http.StatusMultipleChoices:
			b.won = true
			return nil
		case !a.Data.UsableFrom.IsZero():
			sleep(ctx, time.Until(a.Data.UsableFrom))
		case a.Code == "NOT_STARTED":
			sleep(ctx, 20*time.Millisecond)
		case a.mayAsk() && tries < patience:
			tries++
			sleep(ctx, a.retryAfter)
		default:
			b.heard = a.Code
			return nil
		}
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
