package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/test/box"
)

// ofDraw is the service's answer with a ticket of a draw.
type ofDraw struct {
	Ticket, Entry string
	UsableFrom    time.Time
}

// TestDrawFromOutside draws the moments of a sale on two instances, from the announcement to the list: entries, the
// root, the beacon, purchases at their moments and not before, and the command that checks it all from outside. One
// buyer comes late; one instance is killed in between.
func TestDrawFromOutside(t *testing.T) {
	t.Parallel()
	s := newTicketSale(t, 100, time.Now().Add(50*time.Minute), map[string]any{
		"tickets": map[string]any{"delayMs": 5000, "leadMinutes": 60, "expiryMinutes": 60},
	})
	d := drawing{s, t}
	begin := time.Now().Add(105 * time.Second).Truncate(time.Second) // once both instances run
	d.staff("PATCH", "/voucher/%d", map[string]any{"beginTime": begin, "endTime": begin.Add(45 * time.Second)}, "")
	d.staff("PUT", "/admin/voucher/%d/draw/beacon", map[string]any{"beacon": "c0ffee"}, "NOT_FOUND")
	announced := map[string]any{"closeTime": begin.Add(-65 * time.Second), "source": "drand", "round": "4711"}
	d.staff("PUT", "/admin/voucher/%d/draw", map[string]any{"closeTime": begin.Add(-59 * time.Second)}, "INVALID")
	d.staff("PUT", "/admin/voucher/%d/draw", announced, "")
	d.staff("PUT", "/admin/voucher/%d/draw", announced, "")
	for at := range s.Servers {
		box.Eventually(t, "an instance knowing the draw", func() error {
			if d.ticket(at, 1).Entry == "" {
				return errors.New("nobody enters")
			}
			return nil
		})
	}
	const entrants, late = 20, 77
	tickets := map[int64]ofDraw{}
	for user := int64(1); user <= entrants; user++ {
		tickets[user] = d.ticket(0, user)
		if again := d.ticket(1, user); again.Entry != tickets[user].Entry || again.Entry == "" {
			t.Fatalf("user %d has the entries %q and %q", user, tickets[user].Entry, again.Entry)
		}
	}
	d.staff("PUT", "/admin/voucher/%d/draw/beacon", map[string]any{"beacon": "c0ffee"}, "BEACON_EARLY")
	if err := s.Servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	d.await(1, draw.Closed)
	before := d.page(1)
	tickets[late] = d.ticket(1, late)
	if tickets[late].Entry != "" || !tickets[late].UsableFrom.Equal(begin.Add(5*time.Second)) {
		t.Errorf("who came late has %+v", tickets[late])
	}
	if err := s.Servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	d.staff("PUT", "/admin/voucher/%d/draw/beacon", map[string]any{"beacon": "c0ffee"}, "")
	d.staff("PUT", "/admin/voucher/%d/draw/beacon", map[string]any{"beacon": "decaf"}, "BEACON_ENTERED")
	for at := range s.Servers {
		d.await(at, draw.Drawn)
	}
	for at := range s.Servers {
		box.Eventually(t, "an instance knowing the moments", func() error {
			for user := range tickets { // at least one of them has a moment after the begin
				if user != late && d.ticket(at, user).UsableFrom.After(begin) {
					return nil
				}
			}
			return errors.New("all are told the begin")
		})
	}
	for user := range tickets {
		tickets[user] = d.ticket(int(user)%2, user)
	}
	d.buy(begin, tickets)
	d.await(0, draw.Over)
	box.Eventually(t, "all orders being recorded", func() error {
		if n := d.number("SELECT COUNT(*) FROM tb_voucher_order"); n != len(tickets) {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	d.verify(before, tickets)
}

// drawing is a sale with a draw.
type drawing struct {
	ticketSale
	t *testing.T
}

// staff sends an admin's request, which is done or refused with a code.
func (d drawing) staff(method, path string, body any, code string) {
	d.t.Helper()
	r := d.Client.Patient(d.t, box.Request{
		Method: method, URL: d.Servers[1].URL(fmt.Sprintf(path, d.voucher)), Token: box.AdminToken(), Body: body,
	})
	if r.Code != code {
		d.t.Fatalf("%s %s: %s %s, want %q", method, path, r.Code, r.Body, code)
	}
}

func (d drawing) number(query string) (n int) {
	d.t.Helper()
	if err := d.Ledger.DB.QueryRowContext(d.t.Context(), query).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// patient asks again while an instance is too busy, or does not know the draw yet.
func (d drawing) patient(at int, method, path string, user int64) box.Reply {
	d.t.Helper()
	r := box.Request{Method: method, URL: d.Servers[at].URL(fmt.Sprintf(path, d.voucher))}
	if user != 0 {
		r.Token = box.BuyerToken(user)
	}
	return d.Client.Patient(d.t, r)
}

func (d drawing) ticket(at int, user int64) ofDraw {
	d.t.Helper()
	r := d.patient(at, http.MethodPost, "/voucher/seckill/%d/ticket", user)
	if r.StatusCode != http.StatusOK {
		d.t.Fatalf("a ticket: %d %s", r.StatusCode, r.Body)
	}
	return box.Decode[ofDraw](d.t, r)
}

// page returns the body of the public answer.
func (d drawing) page(at int) []byte {
	d.t.Helper()
	r := d.patient(at, http.MethodGet, "/voucher/%d/draw", 0)
	if r.StatusCode != http.StatusOK {
		d.t.Fatalf("the draw: %d %s", r.StatusCode, r.Body)
	}
	return r.Body
}

// await waits until the draw has a state; a closed one also has its root.
func (d drawing) await(at int, state string) {
	d.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var shown struct{ Data draw.List }
		if err := json.Unmarshal(d.page(at), &shown); err != nil {
			d.t.Fatal(err)
		}
		if shown.Data.State == state && shown.Data.Root != "" {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("the draw is %s, want %s", shown.Data.State, state)
		}
	}
}

// buy has everybody press just before their moment, and at it.
func (d drawing) buy(begin time.Time, tickets map[int64]ofDraw) {
	d.t.Helper()
	path := fmt.Sprintf("/voucher/seckill/%d", d.voucher)
	d.AwaitState(d.t, d.voucher, "on_sale")
	press := func(user int64) box.Reply {
		d.t.Helper()
		r, err := d.ask(d.t.Context(), int(user)%2, http.MethodPost, path, user,
			map[string]string{"X-Seckill-Ticket": tickets[user].Ticket})
		if err != nil {
			d.t.Fatal(err)
		}
		return r
	}
	bought := map[int64]bool{}
	for len(bought) < len(tickets) && time.Now().Before(begin.Add(40*time.Second)) {
		for user, has := range tickets {
			if bought[user] {
				continue
			}
			asked := time.Now()
			switch r := press(user); {
			case r.StatusCode == http.StatusServiceUnavailable, r.Code == "UNKNOWN_OUTCOME": // a busy machine
			case r.Code == "NOT_STARTED" && asked.After(has.UsableFrom.Add(2*time.Second)):
				d.t.Errorf("user %d is early %v after the moment", user, asked.Sub(has.UsableFrom))
			case r.Code == "" && time.Now().Before(has.UsableFrom.Add(-time.Second)):
				d.t.Errorf("user %d bought %v before the moment", user, time.Until(has.UsableFrom))
				fallthrough
			case r.Code == "":
				bought[user] = true
			case r.Code != "NOT_STARTED":
				d.t.Fatalf("user %d: %d %s", user, r.StatusCode, r.Body)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(bought) != len(tickets) {
		d.t.Errorf("%d of %d bought", len(bought), len(tickets))
	}
}

// verify runs the command: with what was saved before, and each buyer's entry.
func (d drawing) verify(before []byte, tickets map[int64]ofDraw) {
	d.t.Helper()
	saved := filepath.Join(d.t.TempDir(), "before.json")
	if err := os.WriteFile(saved, before, 0o600); err != nil {
		d.t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		args = append([]string{"draw", "verify", "-before", saved}, args...)
		out, err := exec.CommandContext(d.t.Context(), box.Binary(d.t),
			append(args, d.Servers[0].URL(fmt.Sprintf("/voucher/%d/draw", d.voucher)))...).CombinedOutput()
		return string(out), err
	}
	for user, has := range tickets {
		if has.Entry == "" {
			continue
		}
		if out, err := run("-entry", has.Entry); err != nil || !strings.Contains(out, "nothing is wrong") ||
			!strings.Contains(out, "20 entries") || !strings.Contains(out, "outcome order") {
			d.t.Errorf("user %d: %v\n%s", user, err, out)
		}
	}
	other := bytes.Replace(before, []byte(`"delayMs":5000`), []byte(`"delayMs":6000`), 1)
	if err := os.WriteFile(saved, other, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if out, err := run(); err == nil || !strings.Contains(out, "delayMs was") {
		d.t.Errorf("another earlier answer: %v\n%s", err, out)
	}
}
