package beside

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/test/box"
)

// asideClients is how many requests are under way at once beside the running sale.
const asideClients = 64

// latencies collects how long requests took, from many goroutines.
type latencies struct {
	mu   sync.Mutex
	took []time.Duration
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
}

// reset clears them.
func (l *latencies) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = nil
}

// report reports the rate and the p99, and clears them.
func (l *latencies) report(b *testing.B, name string, in time.Duration) {
	b.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		b.Fatalf("no %s", name)
	}
	slices.Sort(l.took)
	b.ReportMetric(float64(len(l.took))/in.Seconds(), name+"/s")
	b.ReportMetric(float64(l.took[len(l.took)*99/100].Microseconds())/1000, name+"-p99-ms")
	l.took = nil
}

// BenchmarkBesideASale has 100,000 users join a waiting list, units come back to it, and tills redeem coupons, each
// beside a sale that runs on the same two instances and sells a few hundred units a second: how many a second, how
// long they and its buyers wait, and how long a unit that comes back takes to be somebody's. Use -benchtime=1x.
func BenchmarkBesideASale(b *testing.B) {
	const joiners, returned, coupons = 100_000, 40, 10_000
	s := box.RealSite(b, 2)
	load := startAside(b, s)
	sold := b.Context()
	list := asideSale(b, s, returned, map[string]any{"waitlistWindowSeconds": 600})
	list.BuyAll(sold, 8, box.Users(1, returned))
	free := asideSale(b, s, coupons, map[string]any{"payValue": 0, "redeemable": true})
	free.BuyAll(sold, asideClients, box.Users(1, coupons))
	for b.Loop() {
		start := time.Now()
		load.took.reset()           // requests during the setup do not count
		time.Sleep(5 * time.Second) // it is a measurement
		load.took.report(b, "alone", time.Since(start))

		path := fmt.Sprintf("/voucher/%d/waitlist", list.Voucher)
		eachAside(b, s, load, "joins", joiners, func(i int) box.Request {
			return box.Request{Method: http.MethodPost, URL: path, Token: box.BuyerToken(int64(1_000_000 + i))}
		}, http.StatusCreated)

		b.ReportMetric(float64(invitedAfter(b, s, list, path).Milliseconds()), "invited-max-ms")

		codes := asideCodes(b, s, free.Voucher)
		eachAside(b, s, load, "redeems", len(codes), func(i int) box.Request {
			claims := box.Claims(int64(7000+i%asideClients), "till")
			claims["shop"] = 1
			return box.Request{
				Method: http.MethodPost, URL: "/till/redeem", Token: box.Sign(box.Secret, claims),
				Header: map[string]string{"Idempotency-Key": "redeem-" + strconv.Itoa(i)},
				Body:   map[string]any{"code": codes[i]},
			}
		}, http.StatusOK)
	}
}

// aside is the load of the running sale.
type aside struct{ took latencies }

// startAside opens a sale that sells until the benchmark ends.
func startAside(b *testing.B, s *box.Site) *aside {
	b.Helper()
	voucher := s.CreateSale(b, 5_000_000, time.Now().Add(time.Hour))
	load := new(aside)
	ctx, stop := context.WithCancel(b.Context())
	var buying sync.WaitGroup
	var users atomic.Int64
	for n := range 8 {
		buying.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				r, err := s.Client.Do(ctx, box.Request{
					Method: http.MethodPost,
					URL:    s.Servers[n%len(s.Servers)].URL(fmt.Sprintf("/voucher/seckill/%d", voucher)),
					Token:  box.BuyerToken(10_000_000 + users.Add(1)),
				})
				if err == nil && r.StatusCode == http.StatusAccepted {
					load.took.add(time.Since(start))
				}
				time.Sleep(20 * time.Millisecond) // the pace of the load
			}
		})
	}
	b.Cleanup(func() { stop(); buying.Wait() })
	return load
}

// asideSale creates a sale with additional fields.
func asideSale(b *testing.B, s *box.Site, units int64, more map[string]any) *box.Buyers {
	b.Helper()
	draft := box.SeckillDraft(1, units, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	maps.Copy(draft, more)
	r := s.Client.Must(b, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
	id := box.Decode[box.Voucher](b, r).ID
	s.AwaitState(b, id, "on_sale")
	return s.Buyers(id)
}

// eachAside sends n requests, many at once, repeats each until it gets the wanted answer, and reports their figures and
// those of the sale beside them.
func eachAside(b *testing.B, s *box.Site, load *aside, name string, n int, request func(i int) box.Request, want int) {
	b.Helper()
	var took latencies
	var next atomic.Int64
	var asking sync.WaitGroup
	load.took.reset()
	start := time.Now()
	for range asideClients {
		asking.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				r := request(i)
				r.URL = s.Servers[i%len(s.Servers)].URL(r.URL)
				began := time.Now()
				for {
					reply, err := s.Client.Do(b.Context(), r)
					if err == nil && reply.StatusCode == want {
						break
					}
					if time.Since(began) > box.Patience {
						b.Errorf("%s: %d %s, %v", name, reply.StatusCode, reply.Body, err)
						return
					}
					time.Sleep(10 * time.Millisecond) // as the answer says
				}
				took.add(time.Since(began))
			}
		})
	}
	asking.Wait()
	in := time.Since(start)
	took.report(b, name, in)
	load.took.report(b, "sale-beside-"+name, in)
}

// invitedAfter has the sale's orders cancelled one by one and returns the longest time until the head of the list saw
// the invitation. Nobody behind the heads may have one.
func invitedAfter(b *testing.B, s *box.Site, list *box.Buyers, path string) (longest time.Duration) {
	b.Helper()
	winners := list.Record.Winners()
	for n := 1; n <= len(winners); n++ {
		var head int64
		row := s.Ledger.DB.QueryRowContext(b.Context(),
			"SELECT user_id FROM tb_place WHERE voucher_id = ? AND position = ?", list.Voucher, n)
		if err := row.Scan(&head); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		s.Client.Must(b, http.StatusOK, box.Request{
			Method: http.MethodPost, URL: s.URL("/order/" + strconv.FormatInt(winners[int64(n)], 10) + "/cancel"),
			Token: box.BuyerToken(int64(n)),
		})
		box.Eventually(b, "the head being invited", func() error {
			r := s.Client.Must(b, http.StatusOK,
				box.Request{Method: http.MethodGet, URL: s.URL(path), Token: box.BuyerToken(head)})
			place := box.Decode[struct{ State string }](b, r)
			if place.State != "invited" {
				return fmt.Errorf("it is %s", place.State)
			}
			return nil
		})
		longest = max(longest, time.Since(start))
	}
	var past int64
	row := s.Ledger.DB.QueryRowContext(b.Context(),
		"SELECT COUNT(*) FROM tb_place WHERE voucher_id = ? AND position > ? AND invite_time IS NOT NULL",
		list.Voucher, len(winners))
	if err := row.Scan(&past); err != nil || past != 0 {
		b.Errorf("%d places behind the heads were invited, %v", past, err)
	}
	return longest
}

// asideCodes returns the codes of a sale's orders.
func asideCodes(b *testing.B, s *box.Site, voucher int64) (codes []string) {
	b.Helper()
	rows, err := s.Ledger.DB.QueryContext(b.Context(),
		"SELECT code FROM tb_coupon WHERE voucher_id = ? ORDER BY order_id", voucher)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var code string
		if err := rows.Scan(&code); err != nil {
			b.Fatal(err)
		}
		codes = append(codes, code)
	}
	if err := rows.Err(); err != nil || len(codes) == 0 {
		b.Fatalf("%d codes, %v", len(codes), err)
	}
	return codes
}
