package siege

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

// proxy is the address that the server trusts.
const proxy = "127.0.0.1"

// lines are connections from addresses of this machine, shared by the buyers who come from the same one.
type lines struct {
	mu sync.Mutex
	of map[string]*http.Client
}

func newLines() *lines { return &lines{of: map[string]*http.Client{}} }

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
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.of {
		c.CloseIdleConnections()
	}
}

// buyer is one account in a sale.
type buyer struct {
	kind     *kind
	sale     *sale
	token    string
	address  string
	fetching string // from where it gets its ticket
	random   *rand.Rand
	ticket   string
	delay    time.Duration // of its moment after the start
	tries    int           // at challenges
	units    int           // won
	heard    string        // the last refusal's code
}

func newBuyer(s *sale, k *kind, i int, user int64, seed uint64) *buyer {
	claims := box.Claims(user, "")
	made := time.Now().AddDate(-1, 0, 0)
	if k.young {
		made = time.Now().AddDate(0, 0, -1)
	}
	claims["since"], claims["level"] = made.Unix(), 2
	b := &buyer{
		kind: k, sale: s, token: box.Sign(box.Secret, claims), address: k.address(i),
		random: rand.New(rand.NewPCG(seed, uint64(user))),
	}
	b.fetching = b.address
	if k.fetching != nil {
		b.fetching = k.fetching(i)
	}
	return b
}

// answer is what a buyer reads of one.
type answer struct {
	status     int
	Code       string `json:"code"`
	retryAfter time.Duration
	Data       struct {
		Ticket     string              `json:"ticket"`
		Entry      string              `json:"entry"`
		UsableFrom time.Time           `json:"usableFrom"`
		Challenge  challenge.Challenge `json:"challenge"`
	} `json:"data"`
}

// mayAsk reports whether the buyer is told to ask again soon.
func (a answer) mayAsk() bool { return a.retryAfter > 0 && a.retryAfter < time.Minute }

// post sends a request from an address; it takes the buyer's line to arrive.
func (b *buyer) post(ctx context.Context, address, path, header, value string) (answer, error) {
	sleep(ctx, b.kind.line(b.random.Float64()))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.sale.shop.URL(path), http.NoBody)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header["Idempotency-Key"] = []string{} // not sent: it is sent again where the server has closed the connection
	if value != "" {
		r.Header.Set(header, value)
	}
	from := address
	if !b.kind.direct {
		r.Header.Set("X-Forwarded-For", address)
		from = proxy
	}
	reply, err := b.sale.lines.from(from).Do(r)
	for again := 0; err != nil && again < b.kind.patience && ctx.Err() == nil; again++ {
		reply, err = b.sale.lines.from(from).Do(r) // this machine was too busy to send it before the server hung up
	}
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

// prepare gets a ticket and solves what is to be solved for it.
func (b *buyer) prepare(ctx context.Context) error {
	sleep(ctx, b.kind.arrival(b.random.Float64()))
	preparing := b.sale.shop.preparing
	preparing <- struct{}{}
	defer func() { <-preparing }()
	solution := ""
	for asked := 0; ctx.Err() == nil; {
		a, err := b.post(ctx, b.fetching, b.sale.path()+"/ticket", "X-Seckill-Altcha", solution)
		switch {
		case err != nil:
			return err
		case a.Data.Ticket != "" && b.sale.drawn && a.Data.Entry == "":
			if time.Now().After(b.sale.begin.Add(-drawLead)) {
				return errors.New("somebody came too late for the draw")
			}
			sleep(ctx, time.Second) // it was just announced
		case a.Data.Ticket != "":
			b.ticket, b.delay = a.Data.Ticket, a.Data.UsableFrom.Sub(b.sale.begin)
			return nil
		case a.Code == "CHALLENGE_REQUIRED":
			if solution, err = b.solve(ctx, a.Data.Challenge); err != nil {
				return err
			}
		case a.status == http.StatusServiceUnavailable, a.mayAsk() && asked < b.kind.patience:
			asked++
			<-preparing // nobody else waits for that
			b.wait(ctx, a.retryAfter)
			preparing <- struct{}{}
		default:
			b.heard = a.Code
			return nil
		}
	}
	return ctx.Err()
}

// solve takes a telephone a while for each try, and a bot's machine as long as it takes.
func (b *buyer) solve(ctx context.Context, c challenge.Challenge) (string, error) {
	began := time.Now()
	p, err := challenge.Solve(ctx, c)
	if err != nil {
		return "", err
	}
	tries := 1 + int(p.Solution.Counter)
	b.tries += tries
	sleep(ctx, time.Duration(tries)*b.kind.try-time.Since(began))
	return p.Encode()
}

// buy presses the button, which the page sends at the buyer's moment, and again where the buyer is told to. A bot that
// replays sends its ticket twice more.
func (b *buyer) buy(ctx context.Context) error {
	pressed := b.kind.reaction(b.random.Float64())
	if b.kind.early && b.ticket != "" {
		pressed = 0
	}
	sleep(ctx, time.Until(b.sale.begin)+max(b.delay, pressed))
	err := b.press(ctx)
	for again := 0; err == nil && b.kind.ticket == replayed && b.units > 0 && again < 2; again++ {
		err = b.press(ctx)
	}
	return err
}

// wait waits before the buyer asks again. The page adds up to half as much.
func (b *buyer) wait(ctx context.Context, d time.Duration) {
	if b.kind.patience == peoplesPatience {
		d += time.Duration(b.random.Float64() * float64(d) / 2)
	}
	sleep(ctx, d)
}

func (b *buyer) press(ctx context.Context) error {
	for asked := 0; ctx.Err() == nil; {
		a, err := b.post(ctx, b.address, b.sale.path(), "X-Seckill-Ticket", b.ticket)
		switch {
		case err != nil:
			return err
		case a.status < http.StatusMultipleChoices, a.Code == "ALREADY_BOUGHT" && b.units == 0:
			b.units++
			return nil
		case !a.Data.UsableFrom.IsZero():
			sleep(ctx, time.Until(a.Data.UsableFrom))
		case a.Code == "NOT_STARTED":
			sleep(ctx, 20*time.Millisecond)
		case a.mayAsk() && asked < b.kind.patience:
			asked++
			b.wait(ctx, a.retryAfter)
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
