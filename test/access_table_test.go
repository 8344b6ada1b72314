package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// adminSecret signs the tokens of all roles but buyers, where a test has a secret of admins.
const adminSecret = "black-box-Secret-of-admins-9876543210-ZYXWVUTSRQP"

// What stands in a cell of docs/operations.md.
const (
	cellNo     = "–"
	cellYes    = "yes"
	cellOwn    = "own"
	cellShop   = "shop"
	cellSigned = "signed"
)

// accessTable returns the cells of docs/operations.md by route and role.
func accessTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	table := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			roles = nil // the table has ended
		case cells[0] == "Route":
			roles = cells[1:]
		case len(cells) != len(roles)+1 || !strings.Contains(cells[0], " /"):
		default:
			for route := range strings.SplitSeq(cells[0], "`, `") {
				if table[route] != nil {
					t.Errorf("%s stands in two rows", route)
				}
				table[route] = map[string]string{}
				for i, role := range roles {
					table[route][role] = cells[i+1]
				}
			}
		}
	}
	return table
}

// walk is a service whose routes are asked in every role.
type walk struct {
	srv     *box.Server
	http    *http.Client
	voucher int64  // of shop 1
	order   string // of the buyer owner
	payment string // of that order
	// Of shop 1, too.
	webhook, template, rehearsal int64
}

// marker is in everything that shop 1 has.
const marker = "Marked by the walk"

// owner is the buyer who has an order.
const owner = 500

// newWalk starts a service in which every described route exists.
func newWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{http: &http.Client{Timeout: time.Minute}}
	w.srv = box.NewServer(t, "embedded", map[string]string{
		"SECKILL_DATA_DIR": filepath.Join(t.TempDir(), "data"), "SECKILL_USER_RATE": "0",
		"SECKILL_JWT_SECRET": box.Secret, "SECKILL_JWT_ADMIN_SECRET": adminSecret,
		"SECKILL_ISSUERS":          idp.Start(t).File(t, nil),
		"SECKILL_PAYMENT_PROVIDER": "sandbox", "SECKILL_PAYMENT_SECRET": box.Secret + "!",
		"SECKILL_EVENT_KEEP": "1h",
	})
	if err := w.srv.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.http.CloseIdleConnections)
	c := box.NewClient(t)
	draft := box.SeckillDraft(1, 1000, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	draft["title"] = marker
	created := func(path string, body any) box.Reply {
		t.Helper()
		return c.Must(t, http.StatusCreated, box.Request{
			Method: http.MethodPost, URL: w.srv.URL(path), Token: w.token("admin", box.AdminID, 0, 0), Body: body,
		})
	}
	w.voucher = box.Decode[box.Voucher](t, created("/voucher/seckill", draft)).ID
	w.webhook = box.Decode[named](t, created("/admin/webhook", map[string]any{
		"shopId": 1, "url": "https://shop.example/hook", "description": marker, "disabled": true,
	})).ID
	w.template = box.Decode[named](t, created("/admin/template",
		map[string]any{"voucherId": w.voucher, "name": marker})).ID
	c.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPatch, URL: w.srv.URL("/admin/shop/1"), Token: w.token("admin", box.AdminID, 0, 0),
		Body: map[string]any{"name": marker},
	})
	box.Eventually(t, "an order", func() error {
		r, err := c.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: w.srv.URL(fmt.Sprintf("/voucher/seckill/%d?wait=5s", w.voucher)),
			Token: w.token("buyer", owner, 0, 0),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Code)
		}
		if err == nil {
			w.order = box.Decode[box.Placed](t, r).OrderID
		}
		return err
	})
	w.payment = box.Decode[struct{ PaymentID string }](t, c.Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: w.srv.URL("/order/" + w.order + "/pay"), Token: w.token("buyer", owner, 0, 0),
	})).PaymentID
	w.rehearsal = box.Decode[named](t,
		created(fmt.Sprintf("/admin/voucher/%d/rehearsal", w.voucher), nil)).ID
	box.Eventually(t, "events", func() error {
		r, err := c.Do(t.Context(), box.Request{
			Method: http.MethodGet, URL: w.srv.URL("/admin/event?limit=100"),
			Token: w.token("admin", box.AdminID, 0, 0),
		})
		if err == nil && !strings.Contains(string(r.Body), w.order) {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
	return w
}

// named is what has an id.
type named struct{ ID int64 }

// token returns a token of a role; "" for none. A merchant's and a till's are of a shop, a crowd's of a rehearsal.
func (w *walk) token(role string, user, shop, rehearsal int64) string {
	if role == "none" {
		return ""
	}
	if role == "buyer" {
		return box.BuyerToken(user)
	}
	claims := box.Claims(user, role)
	switch role {
	case "till", "merchant":
		claims["shop"] = shop
	case "crowd":
		claims["voucher"] = rehearsal
	}
	return box.Sign(adminSecret, claims)
}

var parameter = regexp.MustCompile(`:\w+`)

// ask sends a request for a route and returns its answer, of which it reads no stream.
func (w *walk) ask(t *testing.T, route, token string) answered {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	id := fmt.Sprint(w.voucher)
	switch {
	case strings.HasPrefix(path, "/order"):
		id = w.order
	case strings.HasPrefix(path, "/admin/order"):
		id = w.order
	case strings.HasPrefix(path, "/admin/payment/"):
		id = w.payment
	case strings.HasPrefix(path, "/admin/webhook"):
		id = fmt.Sprint(w.webhook)
	case strings.HasPrefix(path, "/admin/shop/"):
		id = "1"
	case strings.HasPrefix(path, "/admin/template"):
		id = fmt.Sprint(w.template)
	case strings.HasPrefix(path, "/admin/rehearsal"):
		id = fmt.Sprint(w.rehearsal)
	case strings.HasSuffix(path, ":shopId"):
		id = "1"
	case path == "/admin/check":
		path += "?voucherId=" + id
	case path == "/admin/search":
		path += "?q=" + id
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.srv.URL(parameter.ReplaceAllString(path, id)),
		strings.NewReader(w.body(t, route)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // whatever of a stream is left
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == "text/event-stream" {
		return answered{status: resp.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	var e box.Envelope
	_ = json.Unmarshal(body, &e) // not every answer is JSON
	return answered{resp.StatusCode, e.Code, string(body)}
}

// body returns a body for a route that creates something in shop 1, and none for others.
func (w *walk) body(t *testing.T, route string) string {
	t.Helper()
	body, has := map[string]map[string]any{
		"POST /voucher":         {"shopId": 1, "title": marker, "payValue": 1, "actualValue": 2},
		"POST /voucher/seckill": box.SeckillDraft(1, 10, time.Now(), time.Now().Add(time.Hour)),
		"POST /admin/webhook":   {"shopId": 1, "url": "https://shop.example/hook", "description": marker},
		"PATCH /admin/shop/:id": {"name": marker},
		"POST /admin/template":  {"voucherId": w.voucher, "name": fmt.Sprint(marker, time.Now().UnixNano())},
	}[route]
	if !has {
		return ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answered is an answer.
type answered struct {
	status int
	code   string
	body   string
}

// isIn reports whether the answer shows that the route may be used.
func (a answered) isIn() bool { return a.status != http.StatusUnauthorized && a.code != "FORBIDDEN" }

// shows reports whether the answer has something that is shop 1's.
func (a answered) shows(w *walk) bool {
	return strings.Contains(a.body, marker) || strings.Contains(a.body, w.order)
}

// TestAccessTable asks every described route in every role, and compares the answers with docs/operations.md.
func TestAccessTable(t *testing.T) {
	t.Parallel()
	table := accessTable(t)
	described, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := newWalk(t)
	routes := map[string]bool{}
	user := int64(1000)
	operations := slices.Clone(described.Operations())
	slices.SortStableFunc(operations, func(a, b contract.Operation) int { return cmp.Compare(ends(a), ends(b)) })
	for _, o := range operations {
		route := o.Method + " " + strings.NewReplacer("{", ":", "}", "").Replace(o.Path)
		routes[route] = true
		for role, cell := range table[route] {
			user++ // another one for each request: one of the routes signs out
			w.expect(t, route, role, cell, user)
		}
	}
	rows := map[string]bool{}
	for route := range maps.Keys(table) {
		rows[route] = true
	}
	if diff := gocmp.Diff(routes, rows); diff != "" {
		t.Errorf("routes of the description (-) and rows of docs/operations.md (+):\n%s", diff)
	}
}

// ends returns 1 for an operation after which something is no longer there, and else 0.
func ends(o contract.Operation) int {
	if o.Method == http.MethodDelete || strings.HasSuffix(o.Path, "/end") {
		return 1
	}
	return 0
}

// expect asks a route in a role, and compares the answer with the cell.
func (w *walk) expect(t *testing.T, route, role, cell string, user int64) {
	t.Helper()
	ask := func(role string, user, shop, rehearsal int64) answered {
		t.Helper()
		return w.ask(t, route, w.token(role, user, shop, rehearsal))
	}
	want := func(ok bool, a answered, what string) {
		t.Helper()
		if !ok {
			t.Errorf("%s as %s: %d %.200s, want %s (%s)", route, role, a.status, a.body, what, cell)
		}
	}
	if cell == cellShop && role == "merchant" { // first the other shop: some routes end things
		w.expectOtherShop(t, route, user)
	}
	a := ask(role, user, 1, w.voucher)
	switch cell {
	case cellNo:
		want(role == "none" && a.code == "UNAUTHENTICATED" || role != "none" && a.code == "FORBIDDEN", a, "a refusal")
	case cellYes:
		want(a.isIn(), a, "access")
	case cellShop:
		list := strings.HasPrefix(route, "GET ") && !strings.Contains(route, ":") &&
			!strings.HasSuffix(route, "/check") && !strings.HasSuffix(route, "/today") // sums name nothing
		want(a.isIn() && (a.status != http.StatusNotFound || role == "till" || strings.HasPrefix(route, "DELETE ") ||
			strings.HasSuffix(route, "/waitlist")) && (!list || a.shows(w)), a, "access to the shop's own")
	case cellOwn:
		switch {
		case role == "crowd" && strings.Contains(route, ":"):
			want(a.isIn(), a, "access")
			a = ask(role, user, 0, w.voucher+1)
			want(a.code == "FORBIDDEN", a, "no access to another rehearsal")
		case strings.Contains(route, " /order/:"):
			want(a.code == "NOT_FOUND", a, "no order of somebody else")
			a = ask("buyer", owner, 0, 0)
			want(a.isIn() && (a.code != "NOT_FOUND" || strings.HasSuffix(route, "/qr")), a, "the owner's order")
		default:
			want(a.isIn(), a, "access")
		}
	case cellSigned:
		want(!a.isIn() || a.status >= http.StatusBadRequest, a, "a signature")
	default:
		t.Errorf("%s, %s: the cell %q is not explained", route, role, cell)
	}
}

// expectOtherShop asks a route as a merchant of another shop: what it names is not there, and lists leave it out.
func (w *walk) expectOtherShop(t *testing.T, route string, user int64) {
	t.Helper()
	a := w.ask(t, route, w.token("merchant", user, 2, 0))
	named := strings.Contains(route, ":") || w.body(t, route) != "" || strings.HasSuffix(route, "/check")
	if named && a.code != "NOT_FOUND" || !named && a.status != http.StatusOK || a.shows(w) {
		t.Errorf("%s as a merchant of another shop: %d %.200s", route, a.status, a.body)
	}
	if a = w.ask(t, route, w.token("merchant", user, 0, 0)); a.code != "FORBIDDEN" {
		t.Errorf("%s as a merchant of no shop: %d %.200s", route, a.status, a.body)
	}
}
