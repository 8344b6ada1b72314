package entry

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Routes without a body accept none, because a slow body could hold a connection indefinitely. The empty bodies that
// some clients send with each POST, and the few bytes of a purchase, are let through.
func TestBodiesWhereThereAreNone(t *testing.T) {
	t.Parallel()
	e := start(t, instance(nil), "")
	const most = 128 << 10
	body := func(n int) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", n, strings.Repeat("x", n))
	}
	for _, tc := range []struct {
		method, path, rest string // after the headers
		want               int
	}{
		{"POST", "/voucher/seckill/7", "\r\n", 200},
		{"POST", "/voucher/seckill/7", body(0), 200},
		{"POST", "/voucher-order/seckill/7", body(2), 200}, // {}
		{"POST", "/voucher/seckill/7", body(64), 200},      // {"quantity":3} is enough
		{"POST", "/voucher/seckill/7", body(65), 413},
		{"POST", "/voucher/seckill/7", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
		{"POST", "/order/7/pay", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413},
		{"POST", "/voucher/buy/7", body(100), 413},
		{"POST", "/order/7/pay", body(100), 413},
		{"POST", "/demo/buyer", body(100), 413},
		{"GET", "/voucher/list/1", body(100), 413},
		{"GET", "/order/7/events", body(100), 413},
		{"POST", "/voucher/7/pause", body(100), 413},
		{"POST", "/voucher", body(70_000), 200},
		{"POST", "/voucher/seckill", body(most), 200},
		{"POST", "/voucher/seckill", body(most + 1), 413},
		{"PATCH", "/voucher/7", body(100), 200},
		{"POST", "/voucher/7/stock", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200},
		{"POST", "/admin/deadletter/1-0/replay", body(100), 200},
		{"POST", "/admin/webhook/1/replay", body(100), 200},
		{"POST", "/payment/callback", body(100), 200},
		{"POST", "/session", body(16_000), 200},
		{"POST", "/session/end", body(100), 413},
		{"POST", "/payment/callback/bank", body(100), 200},
		// Above the service's own limit of 256 KiB, which says what is wrong.
		{"POST", "/payment/callback", body(256<<10 + 1), 200},
		{"POST", "/payment/callback/bank", body(272 << 10), 200},
		{"POST", "/payment/callback/bank", body(272<<10 + 1), 413},
	} {
		a := e.ask("127.0.0.1", tc.method+" "+tc.path+" HTTP/1.1\r\nHost: shop\r\n"+tc.rest)
		if a.status != tc.want {
			t.Errorf("%s %s with %.60q: %d %s, want %d", tc.method, tc.path, tc.rest, a.status, a.body, tc.want)
		} else if a.status == http.StatusRequestEntityTooLarge {
			a.isProblem(t, http.StatusRequestEntityTooLarge, "TOO_LARGE")
		}
	}
}

// An address may have 2,000 requests under way, but no more, without affecting other addresses.
func TestRequestsOfAnAddress(t *testing.T) {
	t.Parallel()
	const most = 2000
	hold := make(chan struct{})
	e := start(t, instance(hold), "")
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	const beyond = 100
	statuses := make(chan int, most+beyond)
	for range most + beyond {
		c := e.send("127.0.0.2", request("GET", "/held"))
		go func() {
			a, err := read(c)
			if err != nil {
				a.status = 0
			}
			statuses <- a.status
		}()
	}
	// Each worker counts a request when it has read its header. Requests beyond the limit, whichever they are, are
	// refused at once.
	for range beyond {
		if status := <-statuses; status != http.StatusTooManyRequests {
			t.Fatalf("an address with %d requests under way may have more: %d", most, status)
		}
	}
	a := e.ask("127.0.0.2", request("POST", "/voucher/seckill/7"))
	a.isProblem(t, http.StatusTooManyRequests, "RATE_LIMITED")
	if a.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	if a := e.ask("127.0.0.3", request("POST", "/voucher/seckill/7")); a.status != http.StatusOK {
		t.Errorf("another address: %d %s", a.status, a.body)
	}
	release()
	for range most {
		if status := <-statuses; status != http.StatusOK {
			t.Fatalf("a request within the limit: %d", status)
		}
	}
}

// Unfinished bodies are limited: of 300, each a megabyte or of the maximum size, the oversized ones are refused; of the
// others an address may have a hundred; and neither fills a disk.
func TestUnfinishedBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		announced, sent int
		refusals        map[int]int // how many by status; the others wait for their bodies
	}{
		"a megabyte":           {1 << 20, 512 << 10, map[int]int{413: 300}},
		"as long as they may":  {128 << 10, 100 << 10, map[int]int{429: 200}},
		"as long as the route": {60 << 10, 30 << 10, map[int]int{429: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, instance(nil), "")
			half := fmt.Sprintf("POST /voucher HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n%s",
				tc.announced, strings.Repeat("x", tc.sent))
			var (
				mu       sync.Mutex
				statuses = map[int]int{}
				all      sync.WaitGroup
			)
			for range 300 {
				c, err := e.dial("127.0.0.2")
				if err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					defer c.Close()
					_, _ = c.Write([]byte(half)) // which nginx may cut off
					if a, err := read(c); err == nil {
						mu.Lock()
						statuses[a.status]++
						mu.Unlock()
					}
				})
			}
			if a := e.ask("127.0.0.1", request("POST", "/voucher/seckill/7")); a.status != http.StatusOK {
				t.Errorf("a buyer meanwhile: %d %s", a.status, a.body)
			}
			all.Wait() // the time for bodies is over
			for status, n := range tc.refusals {
				// A refusal may be lost to a reset while the caller still sends; most are not.
				if got := statuses[status]; got > n || got < n/2 {
					t.Errorf("answers %v, want %d of %d", statuses, n, status)
				}
			}
			if statuses[http.StatusOK] != 0 {
				t.Errorf("answers %v to bodies that never ended", statuses)
			}
		})
	}
}

// nginx needs no temporary files: the longest accepted body, and an answer larger than its buffers, get through without
// any.
func TestNothingIsSpooled(t *testing.T) {
	t.Parallel()
	const large = 32 << 20 // more than socket buffers hold
	e := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = w.Write(make([]byte, large))
		}
	}), "")
	for _, name := range []string{"client_body", "proxy"} {
		// From now on nginx cannot create temporary files.
		if err := os.RemoveAll(filepath.Join(e.nginx.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const longest = 128 << 10
	c := e.send("127.0.0.1",
		fmt.Sprintf("POST /voucher HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\nx", longest))
	if err := c.(*net.TCPConn).SetReadBuffer(128 << 10); err != nil { // a caller that reads slowly
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, strings.Repeat("x", longest-1)); err != nil {
		t.Fatal(err)
	}
	if a, err := read(c); err != nil || a.status != http.StatusOK || len(a.body) != large {
		t.Errorf("answered %d with %d bytes, %v", a.status, len(a.body), err)
	}
}

// Callers behind a trusted balancer are identified by its header; others cannot claim another address.
func TestRealAddresses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trusted, from string
		want          string
	}{
		"nobody trusted":  {"", "127.0.0.1", "127.0.0.1"},
		"another trusted": {"set_real_ip_from 127.0.0.9;", "127.0.0.1", "127.0.0.1"},
		"a trusted proxy": {"set_real_ip_from 127.0.0.1;", "127.0.0.1", "198.51.100.7"},
		"behind a trusted one": {
			"set_real_ip_from 127.0.0.1; set_real_ip_from 198.51.100.7;", "127.0.0.1", "203.0.113.5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, instance(nil), tc.trusted)
			a := e.ask(tc.from, request("GET", "/", "X-Forwarded-For: 203.0.113.5, 198.51.100.7"))
			if !strings.Contains(a.body, `"caller":"`+tc.want+`"`) {
				t.Errorf("the instance was told %s, want %s", a.body, tc.want)
			}
		})
	}
	t.Run("limits", func(t *testing.T) {
		t.Parallel()
		e := start(t, instance(nil), "set_real_ip_from 127.0.0.0/8;",
			change{`client_body_timeout +5s`, "client_body_timeout 5m"})
		half := func(caller string) string {
			return "POST /voucher HTTP/1.1\r\nHost: shop\r\nX-Forwarded-For: " + caller +
				"\r\nContent-Length: 10\r\n\r\nx"
		}
		for range 100 {
			e.send("127.0.0.2", half("203.0.113.5"))
		}
		// A worker may not have read all of them yet.
		deadline := time.Now().Add(time.Minute)
		for status := 0; status != http.StatusTooManyRequests; {
			if time.Now().After(deadline) {
				t.Fatalf("a caller with 100 bodies under way: %d", status)
			}
			status = e.ask("127.0.0.2", half("203.0.113.5")+strings.Repeat("x", 9)).status
		}
		if a := e.ask("127.0.0.2", half("203.0.113.6")+strings.Repeat("x", 9)); a.status != http.StatusOK {
			t.Errorf("another caller of the same proxy: %d %s", a.status, a.body)
		}
	})
}
