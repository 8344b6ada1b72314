package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"seckill/bench/result"
)

// stub is another service: it wants the token in a header of its own, answers in chunks, and accepts each user once.
type stub struct {
	db    *sql.DB
	stock int
	lose  int // of the accepted: no row

	mu     sync.Mutex
	bought map[string]int
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user := r.Header.Get("authorization")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bought[user]++
	accepted := r.Method == http.MethodPost && r.URL.Path == "/api/voucher-order/seckill/7" && s.stock > 0 && s.bought[user] == 1 &&
		string(body) == `{"who":"`+user+`"}`
	if accepted {
		s.stock--
		if s.lose > 0 {
			s.lose--
		} else if _, err := s.db.ExecContext(r.Context(), "INSERT INTO orders VALUES (?)", user); err != nil {
			accepted = false
		}
	}
	_, _ = fmt.Fprintf(w, `{"success":%t`, accepted)
	w.(http.Flusher).Flush() // the answer has no length
	_, _ = io.WriteString(w, "}")
}

func (s *stub) start(t *testing.T) *url.URL {
	t.Helper()
	var err error
	if s.db, err = sql.Open("sqlite", filepath.Join(t.TempDir(), "orders.db")); err != nil {
		t.Fatal(err)
	}
	s.db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = s.db.Close() })
	if _, err = s.db.ExecContext(t.Context(), "CREATE TABLE orders (user TEXT)"); err != nil {
		t.Fatal(err)
	}
	s.bought = map[string]int{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL + "/api")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func planFor(at *url.URL, tokens int) plan {
	p := plan{
		name: "stub", url: at, method: http.MethodPost, route: "/voucher-order/seckill/7", header: "authorization: {token}", body: `{"who":"{token}"}`,
		statuses: []int{200}, accepted: `"success":true`, count: "SELECT COUNT(*) FROM orders",
		rounds: 2, connections: 4, duration: time.Minute, settle: 50 * time.Millisecond,
	}
	for i := range tokens {
		p.tokens = append(p.tokens, fmt.Sprintf("user-%d", i))
	}
	return p
}

// TestOther: each user asks once over the rounds, with their token, and acceptances, refusals and rows are told apart.
func TestOther(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stock, lose                int
		accepted, refused, missing [2]int64
	}{
		"all accepted":          {100, 0, [2]int64{20, 20}, [2]int64{0, 0}, [2]int64{0, 0}},
		"sold out":              {25, 0, [2]int64{20, 5}, [2]int64{0, 15}, [2]int64{0, 0}},
		"loses what it accepts": {100, 3, [2]int64{20, 20}, [2]int64{0, 0}, [2]int64{3, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stub{stock: tc.stock, lose: tc.lose}
			p := planFor(s.start(t), 41)
			for n := range p.rounds {
				got, err := p.measureOther(t.Context(), n, counting(s.db, p.count))
				if err != nil {
					t.Fatal(err)
				}
				if got.accepted != tc.accepted[n] || got.refused != tc.refused[n] || got.missing != tc.missing[n] {
					t.Errorf("round %d: accepted %d, refused %d, missing %d", n+1, got.accepted, got.refused, got.missing)
				}
				if got.rate <= 0 || got.p99 < got.p50 || got.refused > 0 != strings.Contains(got.refusal, `200 {"success":false}`) {
					t.Errorf("round %d: %+v", n+1, got)
				}
			}
			for user, times := range s.bought {
				if times != 1 {
					t.Errorf("%s asked %d times", user, times)
				}
			}
			if len(s.bought) != 40 {
				t.Errorf("%d users asked, want 20 in each round", len(s.bought))
			}
		})
	}
}

// TestOtherFails: what keeps it from being measured is said.
func TestOtherFails(t *testing.T) {
	t.Parallel()
	s := &stub{stock: 100}
	p := planFor(s.start(t), 20)
	warm := p
	warm.warmUp = time.Hour
	gone := p
	gone.url = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	for want, call := range map[string]func() error{
		"used up before the measured time": func() error { _, err := warm.measureOther(t.Context(), 0, nil); return err },
		"not sent":                         func() error { _, err := gone.measureOther(t.Context(), 0, nil); return err },
		"answers one number": func() error {
			_, err := p.measureOther(t.Context(), 0, counting(s.db, "SELECT nonsense"))
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.measureOther(ctx, 0, nil); err == nil {
		t.Error("a measurement that was stopped ends without an error")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.txt")
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "token-%d\n", i)
	}
	twice := filepath.Join(t.TempDir(), "twice.txt")
	for path, text := range map[string]string{file: lines.String(), twice: "a\nb\na\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := []string{"-url", "http://127.0.0.1:8081", "-route", "/buy/7", "-tokens", file}
	for _, tc := range []struct {
		more []string
		want string // in the error; "": none
	}{
		{nil, ""},
		{[]string{"-dsn", "root@tcp(127.0.0.1:3306)/x", "-count", "SELECT 1", "-pids", "12, 34", "-status", "200"}, ""},
		{[]string{"-url", "127.0.0.1:8081"}, "-url"},
		{[]string{"-url", "ftp://x"}, "-url"},
		{[]string{"-route", "buy"}, "-route"},
		{[]string{"-method", "POST /x"}, "-method"},
		{[]string{"-header", "Authorization"}, "-header"},
		{[]string{"-header", "Authorization: x"}, "{token}"},
		{[]string{"-header", "Authorization: x", "-body", "{token}"}, ""},
		{[]string{"-tokens", ""}, "-tokens is missing"},
		{[]string{"-tokens", file + ".none"}, "-tokens"},
		{[]string{"-tokens", twice}, "comes twice"},
		{[]string{"-rounds", "9"}, "need 1152"},
		{[]string{"-dsn", "root@tcp(127.0.0.1:3306)/x"}, "go together"},
		{[]string{"-count", "SELECT 1"}, "go together"},
		{[]string{"-dsn", "nonsense", "-count", "SELECT 1"}, "-dsn"},
		{[]string{"-status", "20"}, "-status"},
		{[]string{"-status", ""}, "-status"},
		{[]string{"-pids", "self"}, "-pids"},
		{[]string{"-duration", "0s"}, "-duration"},
		{[]string{"more"}, `"more"`},
		{[]string{"-fast"}, "-fast"},
	} {
		p, err := parse(append(append([]string{}, good...), tc.more...), io.Discard)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%q: %v", tc.more, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%q: error %v, want %q in it", tc.more, err, tc.want)
		case err == nil && len(p.tokens) != 1000:
			t.Errorf("%q: %d tokens", tc.more, len(p.tokens))
		}
	}
	if code := realMain(t.Context(), []string{"-help"}, io.Discard, io.Discard); code != 0 {
		t.Errorf("-help: exit code %d", code)
	}
	if code := realMain(t.Context(), nil, io.Discard, io.Discard); code != 2 {
		t.Errorf("without flags: exit code %d", code)
	}
}

// TestReport: medians, ratios of each round, and what went wrong.
func TestReport(t *testing.T) {
	t.Parallel()
	rounds := []round{
		{sample{accepted: 10, rate: 100, p99: 5}, sample{accepted: 5, rate: 50, p99: 10, missing: 2}},
		{sample{accepted: 10, rate: 90, p99: 6}, sample{accepted: 5, refused: 1, refusal: "409 sold out", rate: 30, p99: 12, missing: 1}},
		{sample{accepted: 10, rate: 80, p99: 7}, sample{accepted: 5, rate: 80, p99: 14}},
	}
	var b bytes.Buffer
	printReport(&b, plan{name: "port", rounds: 3, count: "SELECT 1"}, rounds, result.Machine{})
	for _, want := range []string{
		"| accepted a second | 90.0 (80.0–100.0) | 50.0 (30.0–80.0) | 2.00 (1.00–3.00) |",
		"| p99 of an answer, ms | 6.0 (5.0–7.0) | 12.0 (10.0–14.0) | 0.50 (0.50–0.50) |",
		"| recorded a second meanwhile | – | – | – |",
		"| refused, of all rounds | 0 | 1 | |", "| 0 | 3 | |", "409 sold out", "Some were refused",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the report:\n%s", want, b.String())
		}
	}
}
