package siege

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"seckill/test/box"
)

// preparing is how long a crowd may take to have its tickets.
const preparing = time.Minute

// sale is one that is besieged.
type sale struct {
	server *box.Server
	client *box.Client
	lines  *lines
	id     int64
	begin  time.Time
	guards map[string]any
}

// start starts a server that trusts the proxy.
func start(tb testing.TB) *box.Server {
	tb.Helper()
	s := box.NewServer(tb, "besieged", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(tb.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_TRUSTED_PROXIES": proxy, "SECKILL_USER_RATE": "0",
	})
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// proposed returns the guards that the console proposes for the sale's stock and the people who come.
func proposed(tb testing.TB, server *box.Server) map[string]any {
	tb.Helper()
	r := box.NewClient(tb).Must(tb, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: server.URL(fmt.Sprintf("/admin/guards/proposal?units=%d&crowd=%d", units, people)),
		Token: box.AdminToken(),
	})
	return box.Decode[struct{ Guards map[string]any }](tb, r).Guards
}

// only returns some of the guards.
func only(all map[string]any, names ...string) map[string]any {
	some := map[string]any{}
	for _, name := range names {
		some[name] = all[name]
	}
	return some
}

// open creates a sale with guards, which begins in an hour.
func open(tb testing.TB, server *box.Server, guards map[string]any) *sale {
	tb.Helper()
	s := &sale{
		server: server, client: box.NewClient(tb), lines: &lines{of: map[string]*http.Client{}}, guards: guards,
	}
	draft := box.SeckillDraft(1, units, time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
	draft["guards"] = guards
	if t, is := guards["tickets"].(map[string]any); is {
		t["leadMinutes"] = 120 // the crowd prepares as soon as it is there, and then the sale begins
	}
	r := s.client.Must(tb, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: server.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	})
	s.id = box.Decode[struct{ ID int64 }](tb, r).ID
	tb.Cleanup(s.lines.close)
	return s
}

// each runs a step of all buyers at once.
func each(ctx context.Context, buyers []*buyer, step func(*buyer, context.Context) error) error {
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		failed []error
	)
	for _, b := range buyers {
		all.Go(func() {
			if err := step(b, ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// outcome is who got the units of a sale.
type outcome struct {
	people, bots int
	refused      map[string]int // people whom a guard refused in the end, by its answer
}

// besiege has people and bots prepare, begins the sale, and returns who got what.
func (s *sale) besiege(tb testing.TB, crowd, enemy kind, seed uint64) outcome {
	tb.Helper()
	var all []*buyer
	for i := range crowd.accounts {
		all = append(all, newBuyer(s, &crowd, i, int64(seed)<<32+int64(i)+1, seed))
	}
	for i := range enemy.accounts {
		all = append(all, newBuyer(s, &enemy, i, int64(seed)<<32+1_000_000+int64(i), seed))
	}
	if s.guards["tickets"] != nil {
		ctx, stop := context.WithTimeout(tb.Context(), preparing)
		err := each(ctx, all, (*buyer).prepare)
		stop()
		if err != nil {
			tb.Fatal(err)
		}
		s.shareTicket(all[crowd.accounts:])
	}
	s.start(tb)
	ctx, stop := context.WithTimeout(tb.Context(), preparing)
	defer stop()
	if err := each(ctx, all, (*buyer).buy); err != nil {
		tb.Fatal(err)
	}
	return count(all[:crowd.accounts], all[crowd.accounts:])
}

// shareTicket gives the first one's ticket to all bots of a kind that shares.
func (*sale) shareTicket(bots []*buyer) {
	for _, b := range bots {
		if b.kind.oneTicket {
			b.ticket = bots[0].ticket
		}
	}
}

// start has the sale begin in two seconds.
func (s *sale) start(tb testing.TB) {
	tb.Helper()
	s.begin = time.Now().Add(2 * time.Second)
	s.client.Must(tb, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: s.server.URL(fmt.Sprintf("/voucher/%d", s.id)), Token: box.AdminToken(),
		Body: map[string]any{"beginTime": s.begin.Format(time.RFC3339Nano)},
	})
}

func count(crowd, enemy []*buyer) outcome {
	o := outcome{refused: map[string]int{}}
	for _, b := range crowd {
		switch {
		case b.won:
			o.people++
		case b.heard != "SOLD_OUT" && b.heard != "":
			o.refused[b.heard]++
		}
	}
	for _, b := range enemy {
		if b.won {
			o.bots++
		}
	}
	return o
}

// String shows an outcome in a failure.
func (o outcome) String() string {
	text, _ := json.Marshal(o.refused) //nolint:errchkjson // a map of numbers always has a JSON form
	return fmt.Sprintf("%d to people, %d to bots, people refused: %s", o.people, o.bots, text)
}
