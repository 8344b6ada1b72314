package test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"seckill/test/box"
)

// TestOrderAccess checks that only its owner sees an order; for everybody else, the administrator included, it does not
// exist.
func TestOrderAccess(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Open(t)
			b := s.Buyers(s.CreateSale(t, 10, time.Now().Add(time.Hour)))
			b.Query = "wait=30s"
			id := b.Buy(t.Context(), s.Servers[0], 1).Order
			path := s.URL("/order/" + strconv.FormatInt(id, 10))
			if got := s.Order(t, 1, id); got.Status != "unpaid" {
				t.Errorf("the owner sees %+v, want unpaid", got)
			}
			s.Client.Must(t, http.StatusNotFound,
				box.Request{Method: http.MethodGet, URL: path, Token: box.BuyerToken(2)})
			s.Client.Must(t, http.StatusNotFound,
				box.Request{Method: http.MethodGet, URL: path, Token: box.AdminToken()})
			s.Client.Must(t, http.StatusNotFound,
				box.Request{Method: http.MethodGet, URL: path + "?wait=5s", Token: box.BuyerToken(2)})
			r := s.Client.Must(t, http.StatusOK,
				box.Request{Method: http.MethodGet, URL: s.URL("/order"), Token: box.BuyerToken(2)})
			if string(r.Data) != "[]" {
				t.Errorf("a user without orders sees %s, want []", r.Data)
			}
		})
	}
}

// TestOrderList reads a user's orders page by page: all of them, each once, the newest first.
func TestOrderList(t *testing.T) {
	t.Parallel()
	const orders = 7
	s := box.EmbeddedSite(t)
	var want []string
	for range orders {
		b := s.Buyers(s.CreateSale(t, 1, time.Now().Add(time.Hour)))
		a := b.BuyUntilAnswered(t.Context(), 5)
		want = append(want, strconv.FormatInt(a.Order, 10))
	}
	slices.SortFunc(want, func(a, b string) int {
		x, _ := strconv.ParseInt(a, 10, 64) // a number, printed just above
		y, _ := strconv.ParseInt(b, 10, 64)
		return int(min(1, max(-1, y-x)))
	})
	var got []string
	next := ""
	for range orders {
		url := s.URL("/order?limit=3")
		if next != "" {
			url += "&before=" + next
		}
		r := s.Client.Must(t, http.StatusOK, box.Request{Method: http.MethodGet, URL: url, Token: box.BuyerToken(5)})
		if r.Total == nil || *r.Total != orders {
			t.Errorf("total of %s is not %d", r.Body, orders)
		}
		page := box.Decode[[]box.Order](t, r)
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

// TestWaiting checks that without ?wait= the answer is "queued" at once, and with it the recorded order. While nothing
// can be recorded, both answers are "queued": the first at once, the second after the wait.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 2)
	voucher := s.CreateSale(t, 10, time.Now().Add(time.Hour))
	buy := func(user int64, query string) (box.Reply, box.Placed) {
		t.Helper()
		url := s.Servers[user%2].URL("/voucher/seckill/" + strconv.FormatInt(voucher, 10) + query)
		r, err := s.Client.Do(t.Context(), box.Request{Method: http.MethodPost, URL: url, Token: box.BuyerToken(user)})
		if err != nil {
			t.Fatal(err)
		}
		return r, box.Decode[box.Placed](t, r)
	}
	r, placed := buy(1, "")
	if r.StatusCode != http.StatusAccepted || placed.Status != "queued" ||
		r.Header.Get("Location") != "/order/"+placed.OrderID {
		t.Errorf("without wait: %d %s, Location %q; want 202, queued and the order's path",
			r.StatusCode, r.Body, r.Header.Get("Location"))
	}
	if r, placed = buy(2, "?wait=30s"); r.StatusCode != http.StatusCreated || placed.Status != "unpaid" {
		t.Errorf("with wait: %d %s, want 201 and unpaid", r.StatusCode, r.Body)
	}

	release := s.Ledger.LockSale(t, voucher)
	began := time.Now()
	r, placed = buy(3, "?wait=700ms")
	if took := time.Since(began); r.StatusCode != http.StatusAccepted || placed.Status != "queued" ||
		took < 600*time.Millisecond {
		t.Errorf("with wait, nothing being recorded: %d %s after %v; want 202 and queued after 700ms",
			r.StatusCode, r.Body, took)
	}
	path := "/order/" + placed.OrderID
	get := func(query string) box.Order {
		t.Helper()
		// Asks an instance that did not accept the order: all instances know queued orders.
		r := s.Client.Must(t, http.StatusOK,
			box.Request{Method: http.MethodGet, URL: s.Servers[0].URL(path + query), Token: box.BuyerToken(3)})
		return box.Decode[box.Order](t, r)
	}
	if got := get(""); got.Status != "queued" || got.ID != placed.OrderID {
		t.Errorf("the waiting order is shown as %+v, want queued", got)
	}
	s.Client.Must(t, http.StatusNotFound,
		box.Request{Method: http.MethodGet, URL: s.URL(path), Token: box.BuyerToken(4)})
	waited := make(chan box.Reply, 1)
	go func() {
		// On an error the answer is empty, which the check below reports.
		r, _ := s.Client.Do(t.Context(),
			box.Request{Method: http.MethodGet, URL: s.Servers[0].URL(path + "?wait=30s"), Token: box.BuyerToken(3)})
		waited <- r
	}()
	release()
	if r := <-waited; r.StatusCode != http.StatusOK || box.Decode[box.Order](t, r).Status != "unpaid" {
		t.Errorf("the buyer who waited sees %d %s, want unpaid", r.StatusCode, r.Body)
	}
}
