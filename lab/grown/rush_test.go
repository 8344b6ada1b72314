package grown

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/lab/load"
	"seckill/test/box"
)

const (
	// envRush is how long a rush lasts, and envRate how many buy a second in it.
	envRush = "SECKILL_TEST_DURATION"
	envRate = "SECKILL_TEST_RATE"
	pages   = 8 // merchants who look at pages of their orders without a pause
)

// TestListsBesideRush sells to a crowd, alone and while merchants page through the orders of a year: all buyers get
// their units, and pages are answered, or shed. It logs how long the buyers waited.
func TestListsBesideRush(t *testing.T) {
	t.Parallel()
	m := open(t, Size{Sales: 1, PerSale: orders(t)}, asFilled)
	took := number(t, envRush, 2)
	rate := number(t, envRate, 200)
	begin := time.Now().Add(-time.Minute)
	sold := m.client.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: m.server.URL("/voucher/seckill"), Token: tokens()["admin"],
		Body: box.SeckillDraft(1, 1_000_000, begin, begin.Add(24*time.Hour)),
	})
	sale := box.Decode[box.Voucher](t, sold).ID
	box.Eventually(t, "the sale being on", func() error {
		v := box.Decode[box.Voucher](t, m.client.Must(t, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: m.server.URL(fmt.Sprint("/voucher/", sale)),
		}))
		if v.SaleState != "on_sale" {
			return fmt.Errorf("it is %s", v.SaleState)
		}
		return nil
	})
	b := load.Burst{
		Users: load.NewUsers(int(2*(took+1)*rate) + 1000), Connections: 32, Want: http.StatusAccepted,
		Endpoints: []load.Endpoint{{Addr: strings.TrimPrefix(m.server.URL(""), "http://"), Vouchers: []int64{sale}}},
		WarmUp:    time.Second, Duration: time.Duration(took) * time.Second, Rate: float64(rate), Whole: true,
	}
	alone, err := b.Send(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop := m.page()
	b.First = alone.Next
	beside, err := b.Send(t.Context())
	statuses := stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("buyers alone: p50 %v, p99 %v; beside %d merchants' pages: p50 %v, p99 %v; pages by status: %v", alone.P50,
		alone.P99, pages, beside.P50, beside.P99, statuses)
	if ok := statuses[http.StatusOK]; ok == 0 {
		t.Error("no page was answered")
	}
	for status, n := range statuses {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("%d pages were answered %d", n, status)
		}
	}
}

// page has merchants page through their orders, and returns what ends it with the number of answers by status.
func (m meter) page() (stop func() map[int]int) {
	ctx, cancel := context.WithCancel(m.t.Context())
	statuses := map[int]int{}
	var mu sync.Mutex
	var readers sync.WaitGroup
	filters := []string{"", "&status=paid", "&status=cancelled", "&status=refunding"}
	for i := range pages {
		readers.Go(func() {
			client, query := box.NewClient(m.t), filters[i%len(filters)]
			for before := ""; ctx.Err() == nil; {
				r, err := client.Do(ctx, box.Request{
					Method: http.MethodGet, URL: m.server.URL("/admin/order?limit=100" + query + before),
					Token: tokens()["merchant"],
				})
				if err != nil {
					continue // the rush is over
				}
				before = ""
				if next := r.Next; next != "" {
					before = "&before=" + next
				}
				mu.Lock()
				statuses[r.StatusCode]++
				mu.Unlock()
			}
		})
	}
	return func() map[int]int {
		cancel()
		readers.Wait()
		return statuses
	}
}

// TestExportWaitsForItsReader: orders.csv of a year's sale is sent as it is read, a page of orders at a time. While its
// reader pauses the service reads on no further, so that an export of any size takes the memory of a page; in all it
// reads a few entries for each line.
func TestExportWaitsForItsReader(t *testing.T) {
	t.Parallel()
	all := orders(t)
	m := open(t, Size{Sales: 1, PerSale: all}, asFilled)
	dialer := net.Dialer{}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err == nil {
				err = conn.(*net.TCPConn).SetReadBuffer(256 << 10)
			}
			return conn, err
		},
	}}
	begin, before := time.Now(), m.reads()
	url := m.server.URL("/admin/voucher/1/orders.csv")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens()["merchant"])
	got, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != http.StatusOK {
		t.Fatalf("the export is answered %s", got.Status)
	}
	read := 0
	box.Eventually(t, "the service waiting for its reader", func() error {
		n := m.reads() - before
		last := read
		if read = n; n > last+1000 || n < 1000 {
			return fmt.Errorf("it has read %d, then %d", last, n)
		}
		return nil
	})
	if int64(read) > all/2 {
		t.Errorf("the service has read %d entries for %d orders, though nobody took what it sent", read, all)
	}
	lines, longest, last := int64(0), time.Duration(0), time.Now()
	body := bufio.NewReaderSize(got.Body, 1<<16)
	for {
		_, err := body.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		lines++
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	entries := m.reads() - before
	t.Logf("%d lines in %v, at most %v between two; %d entries read, %d of them without a reader; the service's "+
		"memory: at most %s", lines, time.Since(begin).Round(time.Millisecond), longest.Round(time.Millisecond),
		entries, read, peak(t, m.server.PID()))
	if lines < all || int64(entries) > 4*all {
		t.Errorf("%d lines and %d entries for %d orders", lines, entries, all)
	}
}

// peak returns the most memory that a process has used so far.
func peak(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

// asFilled changes nothing.
func asFilled(context.Context, *sql.DB, Size) error { return nil }
