package test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/feature/guard/challenge"
	"seckill/test/box"
)

// honest is a person who buys, with their address.
type honest struct {
	user    int64
	address string
	ticket  string
	role    string
}

// honestCrowd returns n people: in offices and behind a mobile provider's addresses, a hundred behind each address, and
// in homes of two people with IPv6.
func honestCrowd(n int) []*honest {
	crowd := make([]*honest, n)
	for i := range crowd {
		address := fmt.Sprintf("198.51.%d.1", i/3/100)
		switch i % 3 {
		case 1:
			address = fmt.Sprintf("2001:db8:%x:%x::%x", i/1500, i/6, i)
		case 2:
			address = fmt.Sprintf("203.0.113.%d", i/3/100)
		}
		crowd[i] = &honest{user: int64(i) + 1000, address: address}
	}
	return crowd
}

// guardedShop is a service with a sale that uses all guards.
type guardedShop struct {
	tb     testing.TB
	server *box.Server
	client *box.Client
	sale   int64
}

// do sends a person's request, and retries after the time that a busy service asks for.
func (s *guardedShop) do(
	ctx context.Context, p *honest, path string, header map[string]string,
) (r box.Reply, err error) {
	claims := box.Claims(p.user, p.role)
	claims["level"], claims["since"] = 2, time.Now().AddDate(-1, 0, 0).Unix()
	all := map[string]string{"X-Forwarded-For": p.address}
	maps.Copy(all, header)
	request := box.Request{
		Method: http.MethodPost, URL: s.server.URL(fmt.Sprintf("/voucher/seckill/%d%s", s.sale, path)),
		Token: box.Sign(box.Secret, claims), Header: all,
	}
	for range 60 {
		if r, err = s.client.Do(ctx, request); err != nil || r.StatusCode != http.StatusServiceUnavailable {
			return r, err
		}
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		time.Sleep(time.Duration(max(1, seconds)) * time.Second)
	}
	return r, err
}

// fetch gets a ticket for a person, with work if it is asked for.
func (s *guardedShop) fetch(ctx context.Context, p *honest) error {
	r, err := s.do(ctx, p, "/ticket", nil)
	if err == nil && r.Code == "CHALLENGE_REQUIRED" {
		asked := box.Decode[struct{ Challenge challenge.Challenge }](s.tb, r)
		solution, errSolve := challenge.Solve(ctx, asked.Challenge)
		text, errText := solution.Encode()
		if errSolve != nil || errText != nil {
			return fmt.Errorf("solving: %w, %w", errSolve, errText)
		}
		r, err = s.do(ctx, p, "/ticket", map[string]string{"X-Seckill-Altcha": text})
	}
	if err != nil || r.StatusCode != http.StatusOK {
		return fmt.Errorf("user %d at %s gets no ticket: %d %s, %w", p.user, p.address, r.StatusCode, r.Body, err)
	}
	p.ticket = box.Decode[struct{ Ticket string }](s.tb, r).Ticket
	return nil
}

// press sends a person's purchase and returns the answer's code, "" for an order. After an unknown outcome, which a
// busy machine makes, it asks again: an order of the first time is then ALREADY_BOUGHT.
func (s *guardedShop) press(ctx context.Context, p *honest) (string, error) {
	for {
		r, err := s.do(ctx, p, "", map[string]string{"X-Seckill-Ticket": p.ticket})
		if err != nil || r.Code != "UNKNOWN_OUTCOME" {
			return r.Code, err
		}
	}
}

// all calls f for everybody, sixteen at a time because some wait for a challenge, and counts the results.
func (s *guardedShop) all(crowd []*honest, f func(ctx context.Context, p *honest) (string, error)) map[string]int {
	s.tb.Helper()
	var (
		mu   sync.Mutex
		said = make(map[string]int)
		work sync.WaitGroup
		next = make(chan *honest)
	)
	for range 16 {
		work.Go(func() {
			for p := range next {
				code, err := f(s.tb.Context(), p)
				if err != nil {
					s.tb.Error(err)
				}
				mu.Lock()
				said[code]++
				mu.Unlock()
			}
		})
	}
	for _, p := range crowd {
		next <- p
	}
	close(next)
	work.Wait()
	return said
}

func (s *guardedShop) admin(method, path string, body any) box.Reply {
	s.tb.Helper()
	r, err := s.client.Do(s.tb.Context(),
		box.Request{Method: method, URL: s.server.URL(path), Token: box.AdminToken(), Body: body})
	if err != nil || r.StatusCode >= http.StatusMultipleChoices {
		s.tb.Fatalf("%s %s: %d %s, %v", method, path, r.StatusCode, r.Body, err)
	}
	return r
}

// TestHonestCrowdWithAllGuards has 5,000 people buy in a sale with all guards, from offices behind one address, homes
// with IPv6 and mobile networks; they press too early, and twice. No guard may treat one of them as an attack, while it
// stops a bot.
func TestHonestCrowdWithAllGuards(t *testing.T) {
	t.Parallel()
	s := &guardedShop{tb: t, client: box.NewClient(t), server: box.NewServer(t, "embedded", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_TRUSTED_PROXIES": "127.0.0.0/8",
	})}
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	made := s.admin(http.MethodPost, "/voucher/seckill", map[string]any{
		// One unit more, for the scout.
		"shopId": 1, "title": "With all guards", "payValue": 1000, "actualValue": 10000, "stock": 501,
		"beginTime": time.Now().Add(time.Hour), "endTime": time.Now().Add(3 * time.Hour),
		"guards": map[string]any{
			"limits": map[string]any{
				"perAddress": map[string]any{"requests": 1000, "seconds": 10},
				"perNetwork": map[string]any{"requests": 5000, "seconds": 10},
				"perUser":    map[string]any{"requests": 10, "seconds": 10},
			},
			"conditions": map[string]any{"minLevel": 1, "minAgeDays": 7}, "coolDown": map[string]any{
				"expired": 2, "minutes": 60,
			},
			"tickets":   map[string]any{"delayMs": 10000, "leadMinutes": 120, "expiryMinutes": 120},
			"challenge": map[string]any{"difficulty": 2, "maxDifficulty": 2},
		},
	})
	s.sale = box.Decode[struct{ ID int64 }](t, made).ID
	crowd := honestCrowd(5000)
	scout := &honest{user: box.AdminID, role: "admin", address: "192.0.2.1"} // an admin, who has no limits
	if err := s.fetch(t.Context(), scout); err != nil {
		t.Fatal(err)
	}
	s.all(crowd, func(ctx context.Context, p *honest) (string, error) { return "", s.fetch(ctx, p) })
	if said := s.all(crowd[:500], s.press); said["NOT_STARTED"] != 500 {
		t.Errorf("too early: %v", said)
	}
	s.admin(http.MethodPatch, fmt.Sprintf("/voucher/%d", s.sale),
		map[string]any{"beginTime": time.Now().Add(-time.Minute)})
	box.Eventually(t, "the sale to begin", func() error {
		if code, err := s.press(t.Context(), scout); err != nil || code != "" {
			return fmt.Errorf("%s, %w", code, err)
		}
		return nil
	})
	first, again := s.all(crowd, s.press), s.all(crowd[:500], s.press)
	if first[""]+first["ALREADY_BOUGHT"] != 500 || first["SOLD_OUT"] != 4500 {
		t.Errorf("at the first press: %v", first)
	}
	if again["ALREADY_BOUGHT"]+again["SOLD_OUT"] != 500 {
		t.Errorf("at the second: %v", again)
	}
	stopped := regexp.MustCompile(
		`seckill_guard_stopped_total\{guard="(limits|conditions|coolDown|challenge)",mode="stopped"\} [1-9].*`)
	if lines := stopped.FindAllString(s.server.Metrics(t), -1); lines != nil {
		t.Errorf("guards stopped people:\n%s", strings.Join(lines, "\n"))
	}
	bot := &honest{user: 7, address: "192.0.2.7"}
	for range 100 {
		if code, err := s.press(t.Context(), bot); err != nil {
			t.Fatal(err)
		} else if code == "RATE_LIMITED" {
			return
		}
	}
	t.Error("a bot asked a hundred times and was never limited")
}
