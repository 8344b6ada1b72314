package siege

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/test/box"
)

// withDraw stands among the guards of a sale whose moments are drawn.
const withDraw = "draw"

const (
	// entering is how long a draw is open at least, drawLead how long before the begin it is closed, and drawsApart how
	// far begins are apart: at a begin all people press, whose pages do not know their moments.
	entering, drawLead, drawsApart = 75 * time.Second, 61 * time.Second, 5 * time.Second
	drawKnown                      = 2 * time.Second // instances read draws each second
	// preparing is how long a crowd may take to get its tickets, and selling how long a sale may take.
	preparing = 15 * time.Minute
	selling   = 4 * time.Minute
	// accountsOfASale is how many accounts a sale may have: one that came to others, too, would cool down.
	accountsOfASale = 10_000_000
)

// shop is the server, and those who are getting a ticket: no more than this machine can solve challenges for before
// they are over.
type shop struct {
	*box.Server
	preparing chan struct{}
	drawn     int // sales with a draw, whose begins are apart
}

// sale is one that is besieged.
type sale struct {
	shop   *shop
	client *box.Client
	lines  *lines
	id     int64
	begin  time.Time
	guards map[string]any
	drawn  bool // the moments of its tickets are drawn
}

// start starts a server that trusts the proxy.
func start(tb testing.TB, settings map[string]string) *shop {
	tb.Helper()
	all := map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(tb.TempDir(), "data"), "SECKILL_JWT_SECRET": box.Secret,
		"SECKILL_TRUSTED_PROXIES": proxy, "SECKILL_USER_RATE": "0",
	}
	maps.Copy(all, settings)
	s := box.NewServer(tb, "besieged", all)
	if err := s.Start(); err != nil {
		tb.Fatal(err)
	}
	return &shop{Server: s, preparing: make(chan struct{}, 16)}
}

// proposed returns the guards that the console proposes for a sale of that size.
func proposed(tb testing.TB, server *shop, of size) map[string]any {
	tb.Helper()
	r := box.NewClient(tb).Must(tb, http.StatusOK, box.Request{
		Method: http.MethodGet, Token: box.AdminToken(),
		URL: server.URL(fmt.Sprintf("/admin/guards/proposal?units=%d&crowd=%d", of.units, of.people)),
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

// open creates a sale with guards, which begins in an hour, or soon after its draw. Its tickets are given out at once.
func open(tb testing.TB, server *shop, units int, guards map[string]any) *sale {
	tb.Helper()
	guards = maps.Clone(guards)
	if t, is := guards["tickets"].(map[string]any); is {
		t = maps.Clone(t)
		t["leadMinutes"], guards["tickets"] = 120, t
	}
	s := &sale{
		shop: server, client: box.NewClient(tb), lines: newLines(), guards: guards,
		begin: time.Now().Add(time.Hour).Truncate(time.Second),
	}
	if _, s.drawn = guards[withDraw]; s.drawn {
		delete(guards, withDraw)
		s.begin = time.Now().Add(entering + drawLead + time.Duration(server.drawn%seeds)*drawsApart)
		server.drawn++
	}
	draft := box.SeckillDraft(1, int64(units), s.begin, s.begin.Add(time.Hour))
	draft["guards"] = guards
	r := s.client.Must(tb, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: server.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft,
	})
	s.id = box.Decode[struct{ ID int64 }](tb, r).ID
	if s.drawn {
		s.put(tb, "draw", map[string]any{"closeTime": s.begin.Add(-drawLead), "source": "siege", "round": "1"})
	}
	return s
}

// put sends an admin's request about the sale.
func (s *sale) put(tb testing.TB, path string, body map[string]any) {
	tb.Helper()
	s.client.Must(tb, http.StatusOK, box.Request{
		Method: http.MethodPut, URL: s.shop.URL(fmt.Sprintf("/admin/voucher/%d/%s", s.id, path)),
		Token: box.AdminToken(), Body: body,
	})
}

// draw enters the beacon once the draw is closed.
func (s *sale) draw(tb testing.TB) {
	tb.Helper()
	box.Eventually(tb, "the draw being closed", func() error {
		r := s.client.Must(tb, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: s.shop.URL(fmt.Sprintf("/voucher/%d/draw", s.id))})
		if box.Decode[struct{ Root string }](tb, r).Root == "" {
			return errors.New("it has no root")
		}
		return nil
	})
	s.put(tb, "draw/beacon", map[string]any{"beacon": rand.Text()})
}

func (s *sale) path() string { return fmt.Sprintf("/voucher/seckill/%d", s.id) }

// start has the sale begin in two seconds, or when its draw says.
func (s *sale) start(tb testing.TB) {
	tb.Helper()
	if s.drawn {
		s.draw(tb)
		return
	}
	s.begin = time.Now().Add(2 * time.Second)
	s.client.Must(tb, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: s.shop.URL(fmt.Sprintf("/voucher/%d", s.id)), Token: box.AdminToken(),
		Body: map[string]any{"beginTime": s.begin.Format(time.RFC3339Nano)},
	})
}

// siege is a crowd and its enemy in a sale.
type siege struct {
	sale         *sale
	kinds        [2]kind
	crowd, enemy []*buyer
}

// newSiege returns one whose accounts nobody else has.
func newSiege(s *sale, crowd, enemy kind, seed uint64) *siege {
	g := &siege{sale: s, kinds: [2]kind{crowd, enemy}}
	first := s.id * accountsOfASale
	for i := range crowd.accounts {
		g.crowd = append(g.crowd, newBuyer(s, &g.kinds[0], i, first+int64(i), seed))
	}
	for i := range enemy.accounts {
		g.enemy = append(g.enemy, newBuyer(s, &g.kinds[1], i, first+accountsOfASale/2+int64(i), seed))
	}
	return g
}

func (g *siege) all() []*buyer { return slices.Concat(g.crowd, g.enemy) }

// besiege has all sieges happen at the same time. No sale begins before everybody has a ticket, so that nobody's work
// for one delays another's purchase.
func besiege(tb testing.TB, sieges ...*siege) []outcome {
	tb.Helper()
	var fetching, buying []*buyer
	for _, g := range sieges {
		buying = append(buying, g.all()...)
		if g.sale.guards["tickets"] != nil {
			fetching = append(fetching, g.all()...)
		}
	}
	each(tb, preparing, fetching, (*buyer).prepare)
	var outcomes []outcome
	var learning []*buyer
	for _, g := range sieges {
		g.useTickets(tb)
		g.sale.start(tb)
		if g.sale.drawn {
			learning = append(learning, g.enemy...)
		}
	}
	if len(learning) > 0 { // the moments are decided now: bots ask for them, people's pages do not
		time.Sleep(drawKnown)
		each(tb, preparing, learning, (*buyer).prepare)
	}
	each(tb, selling, buying, (*buyer).buy)
	for _, g := range sieges {
		g.sale.lines.close()
		outcomes = append(outcomes, g.outcome())
	}
	return outcomes
}

// useTickets gives bots the tickets that they send.
func (g *siege) useTickets(tb testing.TB) {
	tb.Helper()
	if len(g.enemy) == 0 || g.sale.guards["tickets"] == nil {
		return
	}
	switch g.enemy[0].kind.ticket {
	case sharedTicket:
		for _, b := range g.enemy {
			b.ticket = g.enemy[0].ticket
		}
	case earlier:
		before := newSiege(open(tb, g.sale.shop, 1, only(g.sale.guards, "tickets")), kind{}, g.kinds[1], 0)
		defer before.sale.lines.close()
		each(tb, preparing, before.enemy, (*buyer).prepare)
		for i, b := range g.enemy {
			b.ticket = before.enemy[i].ticket
		}
	default:
	}
}

// each runs a step of all buyers at once.
func each(tb testing.TB, limit time.Duration, buyers []*buyer, step func(*buyer, context.Context) error) {
	tb.Helper()
	ctx, stop := context.WithTimeout(tb.Context(), limit)
	defer stop()
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for _, b := range buyers {
		all.Go(func() {
			if err := step(b, ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	if failed != nil {
		tb.Fatalf("%.2000s", failed)
	}
}

// outcome is who got the units of a sale.
type outcome struct {
	people, bots int
	refused      map[string]int // people whom a guard refused in the end, by its answer
	tries        [2]int         // at challenges, the median of people and of bots
}

func (g *siege) outcome() outcome {
	o := outcome{refused: map[string]int{}, tries: [2]int{medianTries(g.crowd), medianTries(g.enemy)}}
	for _, b := range g.crowd {
		o.people += b.units
		if b.units == 0 && b.heard != "SOLD_OUT" {
			o.refused[b.heard]++
		}
	}
	for _, b := range g.enemy {
		o.bots += b.units
	}
	return o
}

func medianTries(buyers []*buyer) int {
	tries := make([]int, len(buyers))
	for i, b := range buyers {
		tries[i] = b.tries
	}
	slices.Sort(tries)
	if len(tries) == 0 {
		return 0
	}
	return tries[len(tries)/2]
}

// String shows an outcome in a failure.
func (o outcome) String() string {
	var refused []string
	for _, code := range slices.Sorted(maps.Keys(o.refused)) {
		refused = append(refused, fmt.Sprintf("%s %d", code, o.refused[code]))
	}
	return fmt.Sprintf("%d to people, %d to bots, people refused: [%s]", o.people, o.bots, strings.Join(refused, ", "))
}
