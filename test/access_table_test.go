package test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/idp"
	"seckill/test/box"
)

// adminSecret signs the tokens of all roles but buyers, where a test has a secret of admins.
const adminSecret = "black-box-Secret-of-admins-9876543210-ZYXWVUTSRQP"

// What stands in a cell of docs/access.md.
const (
	cellNo     = "–"
	cellYes    = "yes"
	cellOwn    = "own"
	cellShop   = "shop"
	cellSigned = "signed"
)

// accessTable returns the cells of docs/access.md by route and role.
func accessTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/access.md")
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
		case cells[0] == "Route":
			roles = cells[1:]
		case roles == nil || len(cells) != len(roles)+1 || !strings.Contains(cells[0], " /"):
		case table[cells[0]] != nil:
			t.Errorf("%s has two rows", cells[0])
		default:
			table[cells[0]] = map[string]string{}
			for i, role := range roles {
				table[cells[0]][role] = cells[i+1]
			}
		}
	}
	return table
}

// walk is a service whose routes are asked in every role.
type walk struct {
	srv     *box.Server
	http    *http.Client
	voucher int64
	order   string // of the buyer owner
}

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
	})
	if err := w.srv.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.http.CloseIdleConnections)
	c := box.NewClient(t)
	sale := c.Must(t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: w.srv.URL("/voucher/seckill"), Token: w.token("admin", box.AdminID, 0),
		Body: box.SeckillDraft(1, 1000, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)),
	})
	w.voucher = box.Decode[box.Voucher](t, sale).ID
	box.Eventually(t, "an order", func() error {
		r, err := c.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: w.srv.URL(fmt.Sprintf("/voucher/seckill/%d?wait=5s", w.voucher)),
			Token: w.token("buyer", owner, 0),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Code)
		}
		if err == nil {
			w.order = box.Decode[box.Placed](t, r).OrderID
		}
		return err
	})
	return w
}

// token returns a token of a role; "" for none. A crowd's is of a rehearsal.
func (w *walk) token(role string, user, rehearsal int64) string {
	if role == "none" {
		return ""
	}
	if role == "buyer" {
		return box.BuyerToken(user)
	}
	claims := box.Claims(user, role)
	switch role {
	case "till":
		claims["shop"] = 1
	case "crowd":
		claims["voucher"] = rehearsal
	}
	return box.Sign(adminSecret, claims)
}

var parameter = regexp.MustCompile(`:\w+`)

// ask sends a request for a route and returns its status and code. It reads no stream.
func (w *walk) ask(t *testing.T, route, token string) (status int, code string) {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	id := fmt.Sprint(w.voucher)
	switch {
	case strings.HasPrefix(path, "/order"):
		id = w.order
	case strings.HasSuffix(path, ":shopId"):
		id = "1"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.srv.URL(parameter.ReplaceAllString(path, id)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // whatever of a stream is left
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp.StatusCode, ""
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	var e box.Envelope
	_ = json.Unmarshal(body, &e) // not every answer is JSON
	return resp.StatusCode, e.Code
}

// isIn reports whether an answer shows that the route may be used.
func isIn(status int, code string) bool {
	return status != http.StatusUnauthorized && code != "FORBIDDEN"
}

// TestAccessTable asks every described route in every role, and compares the answers with docs/access.md.
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
	for _, o := range described.Operations() {
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
	if diff := cmp.Diff(routes, rows); diff != "" {
		t.Errorf("routes of the description (-) and rows of docs/access.md (+):\n%s", diff)
	}
}

// expect asks a route in a role, and compares the answer with the cell.
func (w *walk) expect(t *testing.T, route, role, cell string, user int64) {
	t.Helper()
	status, code := w.ask(t, route, w.token(role, user, w.voucher))
	wrong := func(want string) {
		t.Helper()
		t.Errorf("%s as %s: %d %s, want %s (%s)", route, role, status, code, want, cell)
	}
	named := strings.Contains(route, ":")
	switch cell {
	case cellNo:
		if role == "none" && code != "UNAUTHENTICATED" || role != "none" && code != "FORBIDDEN" {
			wrong("a refusal")
		}
	case cellYes, cellShop:
		if !isIn(status, code) {
			wrong("access")
		}
	case cellOwn:
		switch {
		case role == "crowd" && named:
			if !isIn(status, code) {
				wrong("access")
			}
			if status, code = w.ask(t, route, w.token(role, user, w.voucher+1)); code != "FORBIDDEN" {
				wrong("no access to another rehearsal")
			}
		case strings.HasPrefix(route, "GET /order/:") || strings.HasPrefix(route, "POST /order/:"):
			if code != "NOT_FOUND" {
				wrong("no order of somebody else")
			}
			if status, code = w.ask(t, route, w.token("buyer", owner, 0)); !isIn(status, code) ||
				role == "buyer" && code == "NOT_FOUND" && !strings.HasSuffix(route, "/qr") {
				wrong("the owner's order")
			}
		case !isIn(status, code):
			wrong("access")
		}
	case cellSigned:
		if isIn(status, code) && status < http.StatusBadRequest {
			wrong("a signature")
		}
	default:
		t.Errorf("%s, %s: the cell %q is not explained", route, role, cell)
	}
}
