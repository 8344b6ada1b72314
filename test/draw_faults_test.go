package test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/testkit"
	"seckill/test/box"
)

const (
	drawDelay = 4 * time.Second // of the draws here
	entered   = 6               // users who enter them
	drawStock = 20
)

// announcedSale is a sale with a draw on a site that has others.
func announcedSale(t *testing.T, site *box.Site, begin, closes time.Time) drawing {
	t.Helper()
	draft := box.SeckillDraft(1, drawStock, begin, begin.Add(time.Hour))
	draft["guards"] = map[string]any{"tickets": map[string]any{
		"delayMs": drawDelay.Milliseconds(), "leadMinutes": 60, "expiryMinutes": 60,
	}}
	r := site.Client.Must(t, http.StatusCreated,
		box.Request{Method: http.MethodPost, URL: site.URL("/voucher/seckill"), Token: box.AdminToken(), Body: draft})
	d := drawing{ticketSale{site, box.Decode[box.Voucher](t, r).ID}, t}
	d.announce(closes, "")
	return d
}

func (d drawing) announce(closes time.Time, code string) {
	d.t.Helper()
	d.staff("PUT", "/admin/voucher/%d/draw",
		map[string]any{"closeTime": closes, "source": "drand", "round": "4711"}, code)
}

func (d drawing) beacon(code string) {
	d.t.Helper()
	d.staff("PUT", "/admin/voucher/%d/draw/beacon", map[string]any{"beacon": "c0ffee"}, code)
}

// enter has users 1 to entered enter the draw with that number at an instance.
func (d drawing) enter(at int, number int64) map[int64]ofDraw {
	d.t.Helper()
	tickets := map[int64]ofDraw{}
	for user := int64(1); user <= entered; user++ {
		box.Eventually(d.t, "entering the draw", func() error {
			prefix := fmt.Sprintf("%d-%d-", d.voucher, number)
			if tickets[user] = d.ticket(at, user); !strings.HasPrefix(tickets[user].Entry, prefix) {
				return fmt.Errorf("user %d has %+v", user, tickets[user])
			}
			return nil
		})
	}
	return tickets
}

// again holds the tickets of an instance to have the same entries as before and, once all moments are decided and the
// instance knows them, the same moments.
func (d drawing) again(at int, before map[int64]ofDraw) map[int64]ofDraw {
	d.t.Helper()
	now := map[int64]ofDraw{}
	for user, was := range before {
		box.Eventually(d.t, fmt.Sprintf("user %d having the ticket of before", user), func() error {
			got := d.ticket(at, user)
			if got.Entry != was.Entry || !got.UsableFrom.Equal(was.UsableFrom) {
				return fmt.Errorf("%+v, and had %+v", got, was)
			}
			now[user] = got
			return nil
		})
	}
	return now
}

// decided returns the tickets with their moments: it waits until the instance tells somebody a later one than begin.
func (d drawing) decided(at int, before map[int64]ofDraw, begin time.Time) map[int64]ofDraw {
	d.t.Helper()
	box.Eventually(d.t, "an instance knowing the moments", func() error {
		for user := range before {
			if d.ticket(at, user).UsableFrom.After(begin) {
				return nil
			}
		}
		return errors.New("all are told the begin")
	})
	now := map[int64]ofDraw{}
	for user, was := range before {
		if now[user] = d.ticket(at, user); now[user].Entry != was.Entry {
			d.t.Errorf("user %d has %+v, and had %+v", user, now[user], was)
		}
	}
	return now
}

// inTurn returns the users in the order of their moments.
func inTurn(has map[int64]ofDraw) []int64 {
	return slices.SortedFunc(maps.Keys(has), func(a, b int64) int {
		return has[a].UsableFrom.Compare(has[b].UsableFrom)
	})
}

// list returns the public answer.
func (d drawing) list(at int) draw.List {
	d.t.Helper()
	r := d.patient(at, http.MethodGet, "/voucher/%d/draw", 0)
	if r.StatusCode != http.StatusOK {
		d.t.Fatalf("the draw: %d %s", r.StatusCode, r.Body)
	}
	return box.Decode[draw.List](d.t, r)
}

// press presses for a user, and returns the order's id, or the refusal.
func (d drawing) press(at int, user int64, ticket string) (order, code string) {
	d.t.Helper()
	r := d.Client.Patient(d.t, box.Request{
		Method: http.MethodPost, URL: d.Servers[at].URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", d.voucher)),
		Token: box.BuyerToken(user), Header: map[string]string{"X-Seckill-Ticket": ticket},
	})
	if r.Code != "" {
		return "", r.Code
	}
	return box.Decode[box.Placed](d.t, r).OrderID, ""
}

// buys presses at a user's moment, and returns the order's id.
func (d drawing) buys(at int, user int64, ticket ofDraw) string {
	d.t.Helper()
	time.Sleep(time.Until(ticket.UsableFrom))
	for end := time.Now().Add(box.Patience); ; time.Sleep(50 * time.Millisecond) {
		order, code := d.press(at, user, ticket.Ticket)
		if order != "" {
			return order
		}
		if code != "NOT_STARTED" && code != "PREPARING" && code != "UNKNOWN_OUTCOME" || time.Now().After(end) {
			d.t.Fatalf("user %d is answered %q", user, code)
		}
	}
}

// checked runs the command; it must say what is wanted, and that nothing is wrong.
func (d drawing) checked(before []byte, want ...string) {
	d.t.Helper()
	args := []string{"draw", "verify"}
	if before != nil {
		saved := filepath.Join(d.t.TempDir(), "before.json")
		if err := os.WriteFile(saved, before, 0o600); err != nil {
			d.t.Fatal(err)
		}
		args = append(args, "-before", saved)
	}
	got := box.Command(d.t, nil, append(args, d.Servers[0].URL(fmt.Sprintf("/voucher/%d/draw", d.voucher)))...)
	for _, text := range want {
		if got.Code != 0 || !strings.Contains(got.Stdout, text) {
			d.t.Errorf("voucher %d: exit code %d, want %q in\n%s%s", d.voucher, got.Code, text, got.Stdout, got.Stderr)
		}
	}
}

// outcomes counts the lines of the published list by their outcome.
func (d drawing) outcomes() map[string]int {
	d.t.Helper()
	of := map[string]int{}
	for _, e := range d.list(0).Entrants {
		of[e.Outcome]++
	}
	return of
}

// TestDrawsCutShort calls sales off while their draw is open, once it is closed, once it is decided and while they
// sell, and moves two: one in time for another draw, one too late. The list of a sale that was called off is public at
// once, stays so whatever is changed afterwards, and is right; what was paid is refunded as ever. A moved sale begins
// for nobody by what was drawn before.
func TestDrawsCutShort(t *testing.T) {
	t.Parallel()
	site := guardedSite(t, 2)
	announcedSale(t, site, time.Now().Add(time.Hour), time.Now().Add(time.Minute)) // the first one waits 13 s
	begin := time.Now().Add(110 * time.Second).Truncate(time.Second)
	closes := begin.Add(-62 * time.Second)
	var all []drawing
	for range 6 {
		all = append(all, announcedSale(t, site, begin, closes))
	}
	open, closed, decided, selling, moved, late := all[0], all[1], all[2], all[3], all[4], all[5]
	tickets := map[int64]map[int64]ofDraw{}
	for i, d := range all {
		tickets[d.voucher] = d.enter(i%2, 1)
	}

	open.calledOff(tickets[open.voucher])
	early := begin.Add(time.Second)
	moved.staff("PATCH", "/voucher/%d", map[string]any{"beginTime": early}, "")
	if l := moved.list(0); l.Number != 2 || l.State != draw.Open || len(l.Earlier) != 1 ||
		l.Earlier[0].VoidReason != "changed" || !l.BeginTime.Equal(early) {
		t.Errorf("a moved sale has %+v", l)
	}
	old := tickets[moved.voucher]
	tickets[moved.voucher] = moved.enter(1, 2)

	for _, d := range all[1:] {
		d.await(0, draw.Closed)
	}
	open.checked(nil, "nobody bought")
	closed.calledOff(tickets[closed.voucher])
	closed.checked(nil, "nobody bought")
	late.staff("PATCH", "/voucher/%d", map[string]any{"beginTime": early}, "")
	if l := late.list(0); l.Number != 1 || l.State != draw.Void || l.VoidReason != "changed" || l.Key != "" {
		t.Errorf("a sale that was moved after its draw has %+v", l)
	}
	late.beacon("NOT_FOUND")
	before := map[int64][]byte{}
	for _, d := range []drawing{decided, selling, moved} {
		d.beacon("")
		d.await(0, draw.Drawn)
		before[d.voucher] = d.page(0)
	}
	decided.calledOff(tickets[decided.voucher])
	decided.checked(before[decided.voucher], "nothing is wrong", "6 entries")
	selling.cutInTheMiddle(tickets[selling.voucher], begin, before[selling.voucher])

	has := moved.decided(0, tickets[moved.voucher], early)
	for user, was := range old {
		if _, code := moved.press(int(user)%2, user, was.Ticket); code != "TICKET_INVALID" {
			t.Errorf("user %d is answered %q with a ticket of before the move", user, code)
		}
		moved.buys(int(user)%2, user, has[user])
	}
	for user, was := range tickets[late.voucher] {
		if _, code := late.press(int(user)%2, user, was.Ticket); code != "NOT_STARTED" {
			t.Errorf("user %d is answered %q in a sale that was moved too late", user, code)
		}
	}
	moved.staff("PATCH", "/voucher/%d", map[string]any{"endTime": time.Now().Add(15 * time.Second)}, "")
	moved.await(0, draw.Over)
	moved.checked(before[moved.voucher], "nothing is wrong", "draw 1 counted no more")
	if got := moved.outcomes(); got[draw.Bought] != entered {
		t.Errorf("the moved sale's list has %v", got)
	}
}

// calledOff calls the sale off. Its list is public once instances know, and stays so, and its tickets buy nothing.
func (d drawing) calledOff(tickets map[int64]ofDraw) {
	d.t.Helper()
	d.Client.Must(d.t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: d.URL(fmt.Sprintf("/admin/voucher/%d/call-off", d.voucher)),
		Token: box.AdminToken(), Header: map[string]string{"Idempotency-Key": fmt.Sprint("off-", d.voucher)},
		Body: map[string]string{"why": "the price was wrong"},
	})
	public := func(when string) {
		d.t.Helper()
		for at := range d.Servers {
			box.Eventually(d.t, "the list being public", func() error {
				if l := d.list(at); l.State != draw.Over || l.Key == "" || len(l.Entrants) != entered {
					return fmt.Errorf("voucher %d %s: %+v", d.voucher, when, l)
				}
				return nil
			})
		}
	}
	public("called off")
	d.checked(nil, "nothing is wrong")
	d.staff("PATCH", "/voucher/%d", map[string]any{"title": "called off"}, "")
	d.staff("PATCH", "/voucher/%d", map[string]any{"guards": nil}, "")
	public("and changed")
	for at := range d.Servers {
		box.Eventually(d.t, "an instance knowing of the call-off", func() error {
			_, code := d.press(at, 1, tickets[1].Ticket)
			if code != "ENDED" && code != "CALLED_OFF" && code != "ALREADY_BOUGHT" {
				return fmt.Errorf("user 1 is answered %q", code)
			}
			return nil
		})
	}
}

// cutInTheMiddle lets half of the entrants buy and one of them pay, and then calls the sale off.
func (d drawing) cutInTheMiddle(tickets map[int64]ofDraw, begin time.Time, before []byte) {
	d.t.Helper()
	has := d.decided(1, tickets, begin)
	users := inTurn(has)
	orders := map[int64]string{}
	for _, user := range users[:entered/2] {
		orders[user] = d.buys(int(user)%2, user, has[user])
	}
	payer := &shopper{Site: d.Site, tb: d.t, user: users[0]}
	payer.pay(payer.beginPayment(orders[users[0]]))
	d.calledOff(has)
	box.Eventually(d.t, "the orders being resolved", func() error {
		for user, id := range orders {
			own := &shopper{Site: d.Site, tb: d.t, user: user}
			want := map[bool]string{true: "refunded", false: "cancelled"}[user == users[0]]
			if got := own.order(id).Status; got != want {
				return fmt.Errorf("the order of user %d is %s, want %s", user, got, want)
			}
		}
		return nil
	})
	if got := d.outcomes(); got[draw.Bought] != entered/2 || got[draw.None] != entered/2 {
		d.t.Errorf("the list of a sale that was called off has %v", got)
	}
	d.checked(before, "nothing is wrong", "6 entries")
}

// TestDrawOutlivesRedis empties Redis while a draw is open, once it is closed, once it is decided and while the sale
// sells, and then has Redis go back to before all orders. A third instance has another secret. Entries, moments and
// orders are the ledger's: all stay as they were, and each entrant buys at their moment.
func TestDrawOutlivesRedis(t *testing.T) {
	t.Parallel()
	redis, dsn := testkit.StartRedis(t), testkit.MySQL(t)
	site := box.EmptySite(t, redis.Addr, "", dsn)
	for _, secret := range []string{"of the guards 7!", "of the guards 7!", "of others there!"} {
		site.Add(t, redis.Addr, dsn, map[string]string{"SECKILL_GUARD_SECRET": strings.Repeat(secret, 2)})
	}
	site.Start(t)
	begin := time.Now().Add(115 * time.Second).Truncate(time.Second)
	d := announcedSale(t, site, begin, begin.Add(-65*time.Second))
	empty := func() {
		t.Helper()
		if err := site.Redis.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	same := func(has map[int64]ofDraw) (other map[int64]ofDraw) {
		t.Helper()
		d.again(0, has)
		d.again(1, has)
		return d.again(2, has)
	}
	tickets := d.enter(0, 1)
	empty()
	same(tickets)
	d.await(1, draw.Closed)
	root := d.list(0).Root
	empty()
	same(tickets)
	d.beacon("")
	d.await(2, draw.Drawn)
	before := d.page(0)
	has := d.decided(0, tickets, begin)
	empty()
	elsewhere := same(has)
	box.Eventually(t, "the sale being built anew", func() error {
		if v := site.Voucher(t, d.voucher); v.SaleState != "not_started" && v.SaleState != "on_sale" {
			return fmt.Errorf("it is %q", v.SaleState)
		}
		return nil
	})
	if err := site.Redis.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}

	users := inTurn(has)
	orders := map[int64]string{}
	if _, code := d.press(2, users[0], has[users[0]].Ticket); code != "TICKET_INVALID" {
		t.Errorf("an instance with another secret answers %q", code)
	}
	for i, user := range users[:entered/2] {
		orders[user] = d.buys(i%2, user, has[user])
	}
	d.recorded(len(orders))
	empty()
	last := users[entered-1]
	orders[last] = d.buys(2, last, elsewhere[last])
	d.recorded(len(orders))
	redis.Kill()
	redis.Start()
	same(has)
	for i, user := range users[entered/2:] {
		if user != last {
			orders[user] = d.buys(i%2, user, has[user])
		}
	}
	d.recorded(entered)
	for user, id := range orders {
		if again, code := d.press(0, user, has[user].Ticket); code != "ALREADY_BOUGHT" {
			t.Errorf("user %d, who has order %s, is answered %q %q", user, id, again, code)
		}
	}
	d.staff("PATCH", "/voucher/%d", map[string]any{"endTime": time.Now().Add(15 * time.Second)}, "")
	d.await(0, draw.Over)
	if l := d.list(0); l.Root != root || l.Number != 1 || len(l.Earlier) > 0 || *l.OtherOrders > 0 {
		t.Errorf("the draw has become %+v", l)
	}
	for _, e := range d.list(0).Entrants {
		if !slices.ContainsFunc(users, func(user int64) bool {
			return draw.EntryHash(tickets[user].Entry).String() == e.Hash &&
				has[user].UsableFrom.Equal(e.MomentTime.Time)
		}) {
			t.Errorf("the line %+v is nobody's", e)
		}
	}
	if got := d.outcomes(); got[draw.Bought] != entered {
		t.Errorf("the list has %v", got)
	}
	d.checked(before, "nothing is wrong", "6 entries")
}

// recorded waits until the ledger has the wanted number of orders of the sale.
func (d drawing) recorded(want int) {
	d.t.Helper()
	box.Eventually(d.t, "all orders being recorded", func() error {
		n := d.number(fmt.Sprintf("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = %d", d.voucher))
		if n != want {
			return fmt.Errorf("%d are, want %d", n, want)
		}
		return nil
	})
}
