package siege

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/httpload"
	"seckill/test/box"
)

const (
	askers    = 256              // connections of those who solve nothing
	lead      = 5 * time.Second  // how long they ask before people come
	within    = 20 * time.Second // in which people come
	ticketing = 200              // people
)

// asks are asks for challenges that nobody solves, each of another account.
type asks struct {
	sale     *sale
	rate     int // a second
	networks int
	next     atomic.Int64
	began    time.Time
	of       [600]atomic.Int64 // answers, by their status
}

// run asks until ctx ends.
func (a *asks) run(ctx context.Context, tb testing.TB) {
	tb.Helper()
	server, err := url.Parse("http://" + a.sale.shop.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	a.began = time.Now()
	var all sync.WaitGroup
	for range askers {
		all.Go(func() {
			c, err := httpload.New(server, time.Minute)
			if err != nil {
				tb.Error(err)
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				a.ask(ctx, c)
			}
		})
	}
	all.Wait()
}

// ask sends the next one at its time, or at once if it is late.
func (a *asks) ask(ctx context.Context, c *httpload.Conn) {
	n := a.next.Add(1)
	sleep(ctx, time.Until(a.began.Add(time.Duration(n)*time.Second/time.Duration(a.rate))))
	if ctx.Err() != nil {
		return
	}
	claims := box.Claims(a.sale.id*accountsOfASale+accountsOfASale/2+n, "")
	claims["since"] = time.Now().AddDate(-1, 0, 0).Unix()
	network := int(n) % a.networks
	got, err := c.Do(ctx, httpload.Request{
		Method: http.MethodPost, Path: a.sale.path() + "/ticket", Token: box.Sign(box.Secret, claims),
		Header: fmt.Sprintf("X-Forwarded-For: 198.%d.%d.1\r\n", 18+network/256, network%256),
	})
	if err == nil {
		a.of[min(got.Status, len(a.of)-1)].Add(1)
	}
}

// TestUnsolvedAsks writes a table of how long people wait for a ticket while others ask for challenges and solve none.
func TestUnsolvedAsks(t *testing.T) {
	if os.Getenv(envSiege) != "asks" {
		return // TestNetworksTakeTurns of the challenges is what always runs
	}
	server := start(t, nil)
	server.preparing = make(chan struct{}, ticketing)
	var table strings.Builder
	fmt.Fprintf(&table, "%sFrom %d people, with all guards as proposed, who need 12.8 ms for a try: from their first "+
		"ask to their ticket.\n\n| Unsolved asks a second | networks | reached | answered with a challenge | "+
		"people's median | 99th percentile |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n", load(), ticketing)
	fmt.Fprintf(&table, "| none | | | | %s |\n", waits(besideAsks(t, server, nil)))
	for _, rate := range []int{573, 10_000} {
		for _, networks := range []int{1, 100, 10_000} {
			a := &asks{rate: rate, networks: networks}
			took := besideAsks(t, server, a)
			answered := float64(a.next.Load())
			fmt.Fprintf(&table, "| %d | %d | %.0f | %.1f %% | %s |\n", rate, networks,
				answered/time.Since(a.began).Seconds(), 100*float64(a.of[http.StatusForbidden].Load())/answered,
				waits(took))
		}
	}
	written(t, "siege-asks", table.String())
}

// besideAsks returns how long each of the people took to get a ticket beside asks, which may be nil. The shortest comes
// first.
func besideAsks(t *testing.T, server *shop, a *asks) []time.Duration {
	t.Helper()
	of := large()
	s := open(t, server, of.units, only(proposed(t, server, of), allGuards()...))
	defer s.lines.close()
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop()
	if a != nil {
		a.sale = s
		asking.Go(func() { a.run(ctx, t) })
		sleep(ctx, lead)
	}
	people := honest(ticketing, 1)
	people.arrival = atOnce
	var mu sync.Mutex
	var took []time.Duration
	each(t, preparing, newSiege(s, people, kind{}, 1).crowd, func(b *buyer, ctx context.Context) error {
		sleep(ctx, time.Duration(rand.Int64N(int64(within))))
		began := time.Now()
		err := b.prepare(ctx)
		if err == nil && b.ticket == "" {
			err = fmt.Errorf("somebody was refused a ticket: %s", b.heard)
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(began))
		return err
	})
	slices.Sort(took)
	return took
}

// waits shows the median and the 99th percentile.
func waits(took []time.Duration) string {
	return fmt.Sprintf("%.2f s | %.2f s", took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds())
}
