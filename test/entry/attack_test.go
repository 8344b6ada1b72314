package entry

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var full = flag.Bool("full", false, "attack the entry as it is, with 16,000 connections, not a sixteenth of it")

// scale is the size of an attack relative to the connections that the entry holds.
type scale struct {
	capacity  int // connections of both workers together
	attackers int
	changes   []change
}

// scaled returns an attack with the given percentage of the connections that the entry holds.
func scaled(percent int) scale {
	if *full {
		return scale{2 * 16384, 16_000, nil} // because a process may have 20,000 connections
	}
	return scale{2 * 1024, 2 * 1024 * percent / 100, []change{{`worker_connections 16384`, "worker_connections 1024"}}}
}

const (
	rampUp   = 4 * time.Second // the time within which all attackers arrive
	duration = 12 * time.Second
)

// attack keeps connections from 127.0.0.2 to 127.0.0.9 open until ctx ends. Each sends the text and then a byte every
// half second, and reconnects two seconds after it was cut off. It returns the longest lifetime of a connection.
func (e *entry) attack(
	ctx context.Context, connections int, text string,
) (stop func() (cutOff int64, longest time.Duration)) {
	var (
		all     sync.WaitGroup
		longest atomic.Int64
		cut     atomic.Int64
	)
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	once := func(from string) {
		c, err := e.dial(from)
		if err != nil {
			return
		}
		defer c.Close()
		ended := context.AfterFunc(ctx, func() { _ = c.Close() })
		defer ended()
		begin := time.Now()
		all.Go(func() { _, _ = io.Copy(io.Discard, c) }) // attackers do not care
		for next := text; ctx.Err() == nil; next = "x" {
			if _, err := io.WriteString(c, next); err != nil {
				if ctx.Err() == nil {
					cut.Add(1)
					for took := int64(time.Since(begin)); ; {
						if old := longest.Load(); took <= old || longest.CompareAndSwap(old, took) {
							return
						}
					}
				}
				return
			}
			pause(500 * time.Millisecond)
		}
	}
	for i := range connections {
		all.Go(func() {
			pause(time.Duration(i) * rampUp / time.Duration(connections))
			for ctx.Err() == nil {
				once(fmt.Sprintf("127.0.0.%d", 2+i%8))
				pause(2 * time.Second)
			}
		})
	}
	return func() (int64, time.Duration) {
		all.Wait()
		return cut.Load(), time.Duration(longest.Load())
	}
}

// buy lets buyers buy one after another until ctx ends, at least ten, each over a new connection, and returns how long
// each took.
func (e *entry) buy(ctx context.Context) (took []time.Duration) {
	e.t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil || len(took) < 10 {
		begin := time.Now()
		req, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, "http://"+e.nginx.Addr+
			"/voucher/seckill/7", http.NoBody)
		if err != nil {
			e.t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			e.t.Errorf("buyer %d got no answer: %v", len(took)+1, err)
			return took
		}
		_ = res.Body.Close() // only the status matters
		if res.StatusCode != http.StatusOK {
			e.t.Errorf("buyer %d: %s", len(took)+1, res.Status)
		}
		took = append(took, time.Since(begin))
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return took
}

// TestBuyersAreAnsweredDuringAttacks attacks for several seconds with more slow bodies than the entry holds
// connections, then with slow headers and idle connections on three quarters of them. No attacking connection may
// outlive the entry's limits, and every buyer must get an answer.
func TestBuyersAreAnsweredDuringAttacks(t *testing.T) {
	for name, tc := range map[string]struct {
		percent int
		text    string
		longest time.Duration // longest allowed lifetime of a connection: a multiple of nginx.conf's
	}{
		"slow bodies": {
			150, "POST /voucher/seckill/7 HTTP/1.1\r\nHost: shop\r\nContent-Length: 1000\r\n\r\n", 10 * time.Second,
		},
		"slow admins":  {150, "POST /voucher HTTP/1.1\r\nHost: shop\r\nContent-Length: 1000\r\n\r\n", 0},
		"slow headers": {75, "POST /voucher/seckill/7 HTTP/1.1\r\nHost: shop\r\nX: ", 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := scaled(tc.percent)
			e := start(t, instance(nil), "", s.changes...)
			ctx, cancel := context.WithTimeout(t.Context(), duration)
			defer cancel()
			stop := e.attack(ctx, s.attackers, tc.text)
			took := e.buy(ctx)
			cut, longest := stop()
			slices.Sort(took)
			t.Logf("%d connections on %d: %d buyers answered, half within %s, 99 %% within %s, the last within %s; "+
				"%d attackers cut off, after %s at most",
				s.attackers, s.capacity, len(took), took[len(took)/2].Round(time.Millisecond),
				took[len(took)*99/100].Round(time.Millisecond),
				took[len(took)-1].Round(time.Millisecond), cut, longest.Round(time.Millisecond))
			if cut == 0 {
				t.Error("no attacker was cut off")
			}
			if tc.longest > 0 && longest > tc.longest {
				t.Errorf("a connection was open for %s, want at most %s", longest, tc.longest)
			}
		})
	}
}

// TestIdleConnectionsYield opens more connections than the entry holds, which send one request and then idle: they must
// keep no buyer out.
func TestIdleConnectionsYield(t *testing.T) {
	s := scaled(150)
	e := start(t, instance(nil), "", s.changes...)
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			_ = c.Close()
		}
	}()
	for i := range s.attackers {
		c, err := e.dial(fmt.Sprintf("127.0.0.%d", 2+i%8))
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
		if _, err := io.WriteString(c, request("GET", "/healthz")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	e.buy(ctx)
}
