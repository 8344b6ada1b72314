package siege

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/httpload"
	"seckill/internal/kit/connlimit"
)

// A host without tokens, behind the address of 40 buyers, asks as often as it can: no buyer is refused.
func TestHostWithoutTokens(t *testing.T) {
	t.Parallel()
	const buyers = 40
	server := start(t, nil)
	s := open(t, server, buyers, only(proposed(t, server, ordinary()), "limits"))
	defer s.lines.close()
	address, err := url.Parse("http://" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var hosts sync.WaitGroup
	defer hosts.Wait()
	defer stop()
	var asked atomic.Int64
	for i := range 32 {
		hosts.Go(func() {
			c, err := httpload.New(address, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				r := httpload.Request{
					Method: http.MethodPost, Path: s.path(), Header: "X-Forwarded-For: " + oneAddress(0) + "\r\n",
				}
				if i%2 == 0 {
					r.Token = "of.no.use"
				}
				if _, err := c.Do(ctx, r); err == nil {
					asked.Add(1)
				}
			}
		})
	}
	people := honest(buyers, 1)
	people.address, people.patience = oneAddress, 0
	o := besiege(t, newSiege(s, people, kind{}, 1))[0]
	t.Logf("beside %d requests without a token: %s", asked.Load(), o)
	if o.people != buyers || len(o.refused) > 0 {
		t.Errorf("%s; want %d to people", o, buyers)
	}
}

// One peer holds 300 idle connections at a bound of 300, and may open another whenever one is closed: no buyer is kept
// out.
func TestIdleConnectionsOfOnePeer(t *testing.T) {
	t.Parallel()
	const bound, buyers = 300, 30
	for name, opensAgain := range map[string]bool{"patient": false, "opens others": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, map[string]string{"SECKILL_MAX_CONNECTIONS": strconv.Itoa(bound)})
			s := open(t, server, buyers, nil)
			defer s.lines.close()
			s.start(t)
			ctx, stop := context.WithCancel(t.Context())
			var holding sync.WaitGroup
			defer holding.Wait()
			defer stop()
			for range bound {
				holding.Go(func() {
					for first := true; ctx.Err() == nil && (first || opensAgain); first = false {
						hold(ctx, server.Addr)
					}
				})
			}
			sleep(ctx, connlimit.IdleFor+time.Second)
			people := honest(buyers, 1)
			people.direct, people.patience = true, 0
			people.address = func(i int) string { return fmt.Sprintf("127.9.2.%d", 1+i) }
			g := newSiege(s, people, kind{}, 1)
			each(t, selling, g.crowd, (*buyer).buy)
			if o := g.outcome(); o.people != buyers {
				t.Errorf("%s; want %d to people", o, buyers)
			}
		})
	}
}

// hold opens a connection, sends a request over it, and no other until the server closes it.
func hold(ctx context.Context, address string) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.9.0.2")}}
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_, _ = io.WriteString(c, "GET /voucher/list/1 HTTP/1.1\r\nHost: x\r\n\r\n")
	_, _ = io.Copy(io.Discard, c) // what it hears does not matter
	_ = c.Close()
}
