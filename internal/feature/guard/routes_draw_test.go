package guard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/feature"
	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/store"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/cmdline"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/drawtest"
	"seckill/internal/testkit/featuretest"
	"seckill/internal/voucher"
)

// fakeDraws has the draws of a sale that was over at noon, with three entrants, or fails.
type fakeDraws struct {
	err     error
	end     time.Time // of the sale
	visible time.Time
	off     bool // the shelf
	alone   error
	changes int
}

func (*fakeDraws) hashes() []draw.Hash {
	return []draw.Hash{{1}, {2}, {3}}
}

func (f *fakeDraws) Draws(context.Context, int64) ([]store.DrawRow, error) {
	key, root := [draw.Bytes]byte{7}, draw.NewRoot()
	for _, h := range f.hashes() {
		root.Add(h)
	}
	hash, sum, begin := draw.KeyHash(key), root.Sum(), apitest.Noon().Add(-time.Hour)
	closed, beaconed := begin.Add(-29*time.Minute), begin.Add(-time.Minute)
	d := store.DrawRow{
		VoucherID: 5, Number: 2, Key: key[:], KeyHash: hash[:], Begin: begin, DelayMs: 20_000,
		Close: begin.Add(-30 * time.Minute), Source: "drand", Round: "4711", Created: begin.Add(-time.Hour),
		Closed: &closed, Entries: 3, Root: sum[:], Beacon: "c0ffee", BeaconTime: &beaconed,
	}
	was := d
	was.Number, was.Void, was.VoidWhy = 1, &d.Created, "changed"
	return []store.DrawRow{was, d}, f.err
}

func (f *fakeDraws) Entrants(_ context.Context, _, _ int64, after []byte, n int) (page []store.Entrant, err error) {
	for _, h := range f.hashes() {
		if string(h[:]) > string(after) && len(page) < n {
			page = append(page, store.Entrant{Hash: h, Outcome: draw.None})
		}
	}
	if len(page) > 0 && page[0].Hash == (draw.Hash{1}) {
		page[0].Outcome, page[0].Decided = draw.Bought, apitest.Noon()
	}
	return page, f.err
}

func (f *fakeDraws) Others(context.Context, int64, int64) (int64, time.Time, error) {
	return 1, apitest.Noon(), f.err
}

func (f *fakeDraws) EnterBeacon(context.Context, voucher.Author, int64, string) error { return f.err }

// voucher is the sale's.
func (f *fakeDraws) voucher() voucher.Voucher {
	v := voucher.Voucher{
		ID: 5, ShopID: 2, Status: voucher.OnShelf, VisibleFrom: f.visible,
		Sale: &voucher.Sale{Begin: apitest.Noon().Add(-time.Hour), End: f.end},
	}
	if f.off {
		v.Status = voucher.OffShelf
	}
	return v
}

func drawRoutes(err error) []httpkit.Route {
	return drawRoutesOn(&fakeDraws{err: err, end: apitest.Noon()})
}

func drawRoutesOn(f *fakeDraws) []httpkit.Route {
	doors := DrawDoors{
		Find: func(context.Context, int64) (voucher.Voucher, error) {
			if errors.Is(f.err, voucher.ErrNotFound) {
				return voucher.Voucher{}, f.err
			}
			return f.voucher(), nil
		},
		Now: func(int64) time.Time { return apitest.Noon() }, Alone: func(context.Context) error { return f.alone },
		Change: func(context.Context, voucher.Author, int64, voucher.Change) (voucher.Shown, bool, error) {
			f.changes++
			return voucher.Shown{Voucher: f.voucher()}, true, f.err
		},
	}
	return DrawRoutes(f, doors, httpkit.Front{
		Bodies: httpkit.Bodies{Limit: apitest.BodyLimit}, ShopOf: featuretest.ShopOf, Zone: time.UTC,
	})
}

// While an instance of 1.0 lives, which would sell by other moments, no draw is announced.
func TestNoDrawBesideAnEarlierVersion(t *testing.T) {
	t.Parallel()
	f := &fakeDraws{end: apitest.Noon().Add(time.Hour), alone: order.ErrUpgrading}
	shop := featuretest.Serve(t, drawRoutesOn(f), Rules(), apitest.State{})
	w := do(t, shop, apitest.Request{
		Method: http.MethodPut, Target: "/admin/voucher/5/draw", Body: `{"closeTime":"2026-01-02T11:30:00Z"}`,
		Header: map[string]string{"Authorization": apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin)},
	})
	refused(t, w, http.StatusServiceUnavailable, "UPGRADING")
	if f.changes > 0 {
		t.Errorf("%d changes", f.changes)
	}
}

// A draw's key and list are public once its sale is over, and not before.
func TestDrawIsSecretUntilTheEnd(t *testing.T) {
	t.Parallel()
	f := &fakeDraws{end: apitest.Noon().Add(time.Millisecond)}
	shop := featuretest.Serve(t, drawRoutesOn(f), Rules(), apitest.State{})
	w := do(t, shop, apitest.Request{Method: http.MethodGet, Target: "/voucher/5/draw"})
	var shown struct{ Data draw.List }
	if err := json.Unmarshal(w.Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("0", 62)
	if d := shown.Data; d.State != draw.Drawn || d.Key != "" || len(d.Entrants) > 0 || d.OtherOrders != nil ||
		strings.Contains(w.Body.String(), key) || *d.Entries != 3 || d.Root == "" || len(d.Earlier) != 1 {
		t.Errorf("%s", w.Body)
	}
}

// A draw is announced before buyers see the sale; until then only its staff see it.
func TestDrawOfHiddenVoucher(t *testing.T) {
	t.Parallel()
	f := &fakeDraws{end: apitest.Noon().Add(time.Hour), visible: apitest.Noon().Add(time.Minute)}
	shop := featuretest.Serve(t, drawRoutesOn(f), Rules(), apitest.State{})
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"nobody":             {"", http.StatusNotFound},
		"another shop":       {apitest.MerchantToken(t, apitest.OtherShopID), http.StatusNotFound},
		"the shop":           {apitest.MerchantToken(t, 2), http.StatusOK},
		"an admin":           {apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin), http.StatusOK},
		"no token of anyone": {"Bearer x", http.StatusNotFound},
	} {
		r := apitest.Request{Method: http.MethodGet, Target: "/voucher/5/draw"}
		if c.token != "" {
			r.Header = map[string]string{"Authorization": c.token}
		}
		for _, end := range []time.Duration{time.Hour, -time.Minute} { // called off before anybody saw it
			f.end = apitest.Noon().Add(end)
			w := do(t, shop, r)
			if w.Code != c.status || strings.Contains(w.Header().Get("Cache-Control"), "public") {
				t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
			}
		}
	}
}

// A sale without a draw is not told from none once it is off the shelf, and a draw stays public.
func TestDrawOfUnlistedVoucher(t *testing.T) {
	t.Parallel()
	ask := apitest.Request{Method: http.MethodGet, Target: "/voucher/5/draw"}
	own := ask
	own.Header = map[string]string{"Authorization": apitest.MerchantToken(t, 2)}
	f := &fakeDraws{end: apitest.Noon(), off: true}
	shop := featuretest.Serve(t, drawRoutesOn(f), Rules(), apitest.State{})
	if w := do(t, shop, ask); w.Code != http.StatusOK {
		t.Errorf("with a draw: %d %s", w.Code, w.Body)
	}
	f.err = voucher.ErrNotFound
	none := do(t, shop, ask).Body.String()
	f.err = store.ErrNoDraw
	if got := do(t, shop, ask).Body.String(); got != none {
		t.Errorf("without a draw: %s, of no voucher: %s", got, none)
	}
	if got := do(t, shop, own).Body.String(); got == none {
		t.Errorf("its merchant: %s", got)
	}
}

// A merchant of another shop neither announces a draw nor enters a beacon.
func TestDrawsOfOtherShops(t *testing.T) {
	t.Parallel()
	shop := featuretest.Serve(t, drawRoutes(nil), Rules(), apitest.State{})
	for target, body := range map[string]string{
		"/admin/voucher/5/draw":        `{"closeTime":"2026-01-02T11:30:00Z"}`,
		"/admin/voucher/5/draw/beacon": `{"beacon":"x"}`,
	} {
		r := apitest.Request{Method: http.MethodPut, Target: target, Body: body}
		r.Header = map[string]string{"Authorization": apitest.MerchantToken(t, apitest.OtherShopID)}
		refused(t, do(t, shop, r), http.StatusNotFound, "NOT_FOUND")
	}
}

// TestVerify reads a published list a page at a time from a server, and says what is wrong with it.
func TestVerify(t *testing.T) {
	t.Parallel()
	f := &fakeDraws{end: apitest.Noon()}
	shop := featuretest.Serve(t, drawRoutesOn(f), Rules(), apitest.State{})
	tampers := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Set("limit", "2")
		r.URL.RawQuery, r.RequestURI = query.Encode(), ""
		answer := httptest.NewRecorder()
		shop.ServeHTTP(answer, r)
		body := answer.Body.String()
		if tampers {
			body = strings.ReplaceAll(body, `"02000`, `"02001`)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	verify := func(args ...string) (string, error) {
		var out, wrong strings.Builder
		env := cmdline.Env{Args: append([]string{"verify"}, args...), Out: &out, Err: &wrong}
		err := checkDraw(t.Context(), env, feature.Tools{})
		return out.String() + wrong.String(), err
	}
	url := server.URL + "/voucher/5/draw"
	if out, err := verify(url); err != nil || !strings.Contains(out, "nothing is wrong") ||
		!strings.Contains(out, "3 entries") || !strings.Contains(out, "draw 1 counted no more") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := verify("-entry", "5-2-0000000000000001", url); !errors.Is(err, cmdline.ErrFound) ||
		!strings.Contains(out, "is not in the list") {
		t.Errorf("another's entry: %v\n%s", err, out)
	}
	saved := filepath.Join(t.TempDir(), "saved.json")
	before := do(t, shop, apitest.Request{Method: http.MethodGet, Target: "/voucher/5/draw"}).Body.String()
	before = strings.Replace(before, `"delayMs":20000`, `"delayMs":30000`, 1)
	if err := os.WriteFile(saved, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := verify("-before", saved, url); !errors.Is(err, cmdline.ErrFound) ||
		!strings.Contains(out, `delayMs was "30000", and is "20000"`) {
		t.Errorf("changed since: %v\n%s", err, out)
	}
	tampers = true
	if out, err := verify(url); !errors.Is(err, cmdline.ErrFound) || !strings.Contains(out, "WRONG: line 2:") {
		t.Errorf("tampered with: %v\n%s", err, out)
	}
	for _, args := range [][]string{{}, {url, url}, {"-none", url}} {
		if out, err := verify(args...); !errors.Is(err, cmdline.ErrUsage) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	f.err = store.ErrNoDraw
	if _, err := verify(url); err == nil || errors.Is(err, cmdline.ErrFound) {
		t.Errorf("no draw: %v", err)
	}
	if _, err := verify("-before", filepath.Join(t.TempDir(), "none"), url); err == nil {
		t.Error("no file")
	}
}

// The report says what the saved answer proves, which depends on when it was saved, and how many entries came before
// the reader's own.
func TestWhatAnEarlierAnswerShows(t *testing.T) {
	t.Parallel()
	over := drawtest.Fair()
	closed, open, drawn := *over, *over, *over
	closed.State, closed.Beacon, closed.BeaconTime = draw.Closed, "", nil
	open.State, open.Root = draw.Open, ""
	drawn.State = draw.Drawn
	for name, c := range map[string]struct {
		before *draw.List
		want   string
	}{
		"none": {nil, "not compared"}, "open": {&open, "not closed then"}, "closed": {&closed, "no beacon entered"},
		"drawn": {&drawn, "too late"}, "over": {over, "too late"},
	} {
		var out strings.Builder
		if err := report(&out, over, c.before, drawtest.Own); err != nil || !strings.Contains(out.String(), c.want) ||
			!strings.Contains(out.String(), "; 4 of the 9 entries had an earlier moment, and 1 of those bought") {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.want, out.String())
		}
	}
}
