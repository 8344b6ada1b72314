package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// secret signs the tokens of all contestants.
const secret = "benchmark-only-8c1f0a6e2d9b47538c1f0a6e2d9b4753"

// fastest is more requests per second than two cores can answer: as many tokens are signed for a turn.
const fastest = 80_000

// load is the crowd: as many users as a turn can serve, each with a token, and connections that stay open. It writes
// prepared bytes and reads answers with next to no work of its own, because it shares the machine with what it measures.
type load struct {
	plan   plan
	tokens [][]byte // of the users 1, 2, 3, …
}

// newLoad signs the tokens, on all processors.
func newLoad(p plan) *load {
	n := int(float64(fastest) * (p.warmUp + p.duration).Seconds())
	l := &load{plan: p, tokens: make([][]byte, n)}
	expires := time.Now().Add(24 * time.Hour).Unix()
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				l.tokens[i] = sign(int64(i+1), expires)
			}
		})
	}
	wg.Wait()
	return l
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

// burst is what one turn's load came to.
type burst struct {
	answered int64         // answers with the wanted status, in all
	rate     float64       // of them per second of the measured part
	p50, p99 time.Duration // latency in the measured part
	began    time.Time     // of the load, warm-up included
	ended    time.Time     // when the last answer had come
}

// fire sends purchases of the target's voucher over all connections until the time is over. Every answer must have the
// status.
func (l *load) fire(ctx context.Context, to *target, status int) (burst, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := burst{began: time.Now()}
	from := b.began.Add(l.plan.warmUp)
	until := from.Add(l.plan.duration)
	var next atomic.Int64
	shooters := make([]*shooter, l.plan.connections)
	errs := make(chan error, len(shooters))
	for i := range shooters {
		shooters[i] = &shooter{load: l, to: to, status: fmt.Appendf(nil, "HTTP/1.1 %d ", status), from: from, until: until, next: &next}
		go func() {
			err := shooters[i].run(ctx)
			if err != nil {
				cancel()
			}
			errs <- err
		}()
	}
	var err error
	for range shooters {
		if e := <-errs; e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	if err != nil {
		return burst{}, err
	}
	b.ended = time.Now()
	var latencies []uint32
	for _, s := range shooters {
		b.answered += s.answered
		latencies = append(latencies, s.latencies...)
	}
	if len(latencies) == 0 {
		return burst{}, errors.New("no purchase was answered in the measured time")
	}
	b.rate = float64(len(latencies)) / l.plan.duration.Seconds()
	b.p50, b.p99 = percentile(latencies, 0.50), percentile(latencies, 0.99)
	return b, nil
}

// shooter is one connection.
type shooter struct {
	load        *load
	to          *target
	status      []byte // what every answer begins with
	from, until time.Time
	next        *atomic.Int64 // the user whose turn it is

	answered  int64
	latencies []uint32 // microseconds, of the measured part
}

func (s *shooter) run(ctx context.Context) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.to.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	head := []byte("POST /voucher/seckill/" + strconv.FormatInt(s.to.voucher, 10) + " HTTP/1.1\r\nHost: " + s.to.addr +
		"\r\nContent-Length: 0\r\nAuthorization: Bearer ")
	answers := bufio.NewReaderSize(conn, 4096)
	request := make([]byte, 0, 1024)
	for {
		user := s.next.Add(1) - 1
		if user >= int64(len(s.load.tokens)) {
			return fmt.Errorf("faster than %d requests a second: more tokens are needed", fastest)
		}
		request = append(append(append(request[:0], head...), s.load.tokens[user]...), "\r\n\r\n"...)
		asked := time.Now()
		if asked.After(s.until) {
			return nil
		}
		if _, err = conn.Write(request); err != nil {
			return err
		}
		if err = readAnswer(answers, s.status); err != nil {
			return fmt.Errorf("user %d: %w", user+1, err)
		}
		s.answered++
		if told := time.Now(); told.After(s.from) && !told.After(s.until) {
			s.latencies = append(s.latencies, uint32(min(told.Sub(asked).Microseconds(), 1<<32-1)))
		}
	}
}

// readAnswer reads one answer, which must begin with the wanted status line.
func readAnswer(r *bufio.Reader, want []byte) error {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	ok := bytes.HasPrefix(status, want)
	first := ""
	if !ok {
		first = string(bytes.TrimSpace(status))
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if name, value, found := bytes.Cut(line, []byte(": ")); found && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	if ok {
		_, err = r.Discard(length)
		return err
	}
	body := make([]byte, length)
	for n := 0; n < length; {
		m, err := r.Read(body[n:])
		if err != nil {
			return err
		}
		n += m
	}
	return fmt.Errorf("answered %s: %s", first, body)
}
