package test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestOrdersAreTheirOwners: an order is its owner's; to everybody else, the administrator included, it does not exist.
func TestOrdersAreTheirOwners(t *testing.T) {
	t.Parallel()
	for _, kind := range siteKinds()[:2] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			s := kind.open(t)
			c := s.crowd(s.createSale(t, 10, time.Now().Add(time.Hour)))
			c.query = "wait=10s"
			id := c.buy(t.Context(), s.servers[0], 1).order
			path := s.url("/order/" + strconv.FormatInt(id, 10))
			if got := s.order(t, 1, id); got.Status != "unpaid" {
				t.Errorf("the owner sees %+v, want unpaid", got)
			}
			s.client.must(t, http.StatusNotFound, request{method: http.MethodGet, url: path, token: buyerToken(2)})
			s.client.must(t, http.StatusNotFound, request{method: http.MethodGet, url: path, token: adminToken()})
			s.client.must(t, http.StatusNotFound, request{method: http.MethodGet, url: path + "?wait=5s", token: buyerToken(2)})
			r := s.client.must(t, http.StatusOK, request{method: http.MethodGet, url: s.url("/order"), token: buyerToken(2)})
			if string(r.Data) != "[]" {
				t.Errorf("somebody without orders sees %s, want []", r.Data)
			}
		})
	}
}

// TestOrderList walks through a user's orders page by page: all of them, each once, the newest first.
func TestOrderList(t *testing.T) {
	t.Parallel()
	const orders = 7
	s := embeddedSite(t)
	var want []string
	for range orders {
		c := s.crowd(s.createSale(t, 1, time.Now().Add(time.Hour)))
		a := c.insist(t.Context(), 5)
		want = append(want, strconv.FormatInt(a.order, 10))
	}
	slices.SortFunc(want, func(a, b string) int {
		x, _ := strconv.ParseInt(a, 10, 64) // printed just above
		y, _ := strconv.ParseInt(b, 10, 64)
		return int(min(1, max(-1, y-x)))
	})
	var got []string
	next := ""
	for range orders {
		url := s.url("/order?limit=3")
		if next != "" {
			url += "&before=" + next
		}
		r := s.client.must(t, http.StatusOK, request{method: http.MethodGet, url: url, token: buyerToken(5)})
		if r.Total == nil || *r.Total != orders {
			t.Errorf("total of %s is not %d", r.body, orders)
		}
		page := decode[[]orderJSON](t, r)
		for _, o := range page {
			got = append(got, o.ID)
		}
		if next = r.Next; next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages show %v, want %v", got, want)
	}
}

// TestWaiting: without ?wait= the buyer is told "queued" at once, with it what has become of his order; and while
// nothing can be recorded both say queued, the one at once and the other after its time.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := realSite(t, 2)
	voucher := s.createSale(t, 10, time.Now().Add(time.Hour))
	buy := func(user int64, query string) (reply, placedJSON) {
		t.Helper()
		url := s.servers[user%2].url("/voucher/seckill/" + strconv.FormatInt(voucher, 10) + query)
		r, err := s.client.do(t.Context(), request{method: http.MethodPost, url: url, token: buyerToken(user)})
		if err != nil {
			t.Fatal(err)
		}
		return r, decode[placedJSON](t, r)
	}
	r, placed := buy(1, "")
	if r.status != http.StatusAccepted || placed.Status != "queued" || r.header.Get("Location") != "/order/"+placed.OrderID {
		t.Errorf("without wait: %d %s, Location %q; want 202, queued and the order's place", r.status, r.body, r.header.Get("Location"))
	}
	if r, placed = buy(2, "?wait=10s"); r.status != http.StatusCreated || placed.Status != "unpaid" {
		t.Errorf("with wait: %d %s, want 201 and unpaid", r.status, r.body)
	}

	release := s.ledger.hold(t, voucher)
	began := time.Now()
	r, placed = buy(3, "?wait=700ms")
	if took := time.Since(began); r.status != http.StatusAccepted || placed.Status != "queued" || took < 600*time.Millisecond {
		t.Errorf("with wait, nothing being recorded: %d %s after %v; want 202 and queued after 700ms", r.status, r.body, took)
	}
	path := "/order/" + placed.OrderID
	get := func(query string) orderJSON {
		t.Helper()
		// The instance that did not accept it: what is queued is known to all of them.
		r := s.client.must(t, http.StatusOK, request{method: http.MethodGet, url: s.servers[0].url(path + query), token: buyerToken(3)})
		return decode[orderJSON](t, r)
	}
	if got := get(""); got.Status != "queued" || got.ID != placed.OrderID {
		t.Errorf("the waiting order is shown as %+v, want queued", got)
	}
	s.client.must(t, http.StatusNotFound, request{method: http.MethodGet, url: s.url(path), token: buyerToken(4)})
	waited := make(chan reply, 1)
	go func() {
		// An error leaves the answer empty, which the check below reports.
		r, _ := s.client.do(t.Context(), request{method: http.MethodGet, url: s.servers[0].url(path + "?wait=15s"), token: buyerToken(3)})
		waited <- r
	}()
	release()
	if r := <-waited; r.status != http.StatusOK || decode[orderJSON](t, r).Status != "unpaid" {
		t.Errorf("who waited for the order sees %d %s, want unpaid", r.status, r.body)
	}
}
