package test

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// writeRelease is the version whose files are written: make fixture RELEASE=1.1.
var writeRelease = flag.String("release", "", "write what this program stores as that of this `version`")

// TestWriteRelease writes the files of a release, on both kinds of sites. Without the flag it has nothing to do.
func TestWriteRelease(t *testing.T) {
	t.Parallel()
	if *writeRelease == "" {
		return
	}
	if _, err := os.Stat(filepath.Join("testdata", *writeRelease)); err == nil {
		t.Fatalf("%s is written already, and what a release wrote never changes", *writeRelease)
	}
	for name, write := range map[string]func(*testing.T, string){"servers": writeServers, "embedded": writeEmbedded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata", *writeRelease, name)
			write(t, dir)
			written := time.Now()
			r := readRelease(t, dir)
			s := openRelease(t, dir, r, hookHere)
			s.settled(t, r)
			for i, k := range r.Requests {
				got, err := s.Client.Do(t.Context(), s.request(k))
				if err != nil || got.StatusCode/100 != 2 {
					t.Fatalf("%s %s: %d %s, %v", k.Method, k.Path, got.StatusCode, got.Body, err)
				}
				r.Requests[i].Status, r.Requests[i].Data = got.StatusCode, withoutTimes(t, got.Data, written)
			}
			r.write(t, dir)
		})
	}
}

func (r release) write(t *testing.T, dir string) {
	t.Helper()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, releaseFile, string(text)+"\n")
	var answers strings.Builder
	for _, k := range r.Requests {
		line, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		answers.Write(append(line, '\n'))
	}
	writeFile(t, dir, answersFile, answers.String())
}

// withoutTimes returns an answer without the times since the files were written, which each start makes anew.
func withoutTimes(t *testing.T, answer json.RawMessage, written time.Time) json.RawMessage {
	t.Helper()
	later := written.AddDate(1, 0, 0) // what is later was chosen, not measured
	return regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`).ReplaceAllFunc(answer, func(text []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339+`"`, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if at.After(written) && at.Before(later) {
			return []byte(strconv.Quote(aTime))
		}
		return text
	})
}

// forEver is when everything ends that shall not have ended when the files are read.
const forEver = "2099-01-01T00:00:00Z"

// testSettings are the settings of sites with releases.
func testSettings() map[string]string {
	return map[string]string{
		"SECKILL_GUARD_SECRET":     "of the guards, for tests alone 7!",
		"SECKILL_PAYMENT_PROVIDER": "sandbox",
		"SECKILL_PAYMENT_SECRET":   "of the payments, for tests alone 7!",
		"SECKILL_WEBHOOK_ALLOW":    "127.0.0.0/8",
	}
}

// embeddedOn returns an embedded site on a data directory, which is not started.
func embeddedOn(t *testing.T, dir string, settings map[string]string) *box.Site {
	t.Helper()
	all := map[string]string{
		"SECKILL_DATA_DIR": dir, "SECKILL_JWT_SECRET": box.Secret, "SECKILL_USER_RATE": "0",
	}
	maps.Copy(all, settings)
	file := "file:" + filepath.Join(dir, "seckill.db") + "?mode=ro&_pragma=busy_timeout(5000)"
	return &box.Site{
		Servers: []*box.Server{box.NewServer(t, "embedded", all)}, Client: box.NewClient(t),
		Ledger: box.OpenLedger(t, "sqlite", file),
	}
}

// writeServers writes what a server leaves in Redis and MySQL when it dies in the middle of a sale.
func writeServers(t *testing.T, dir string) {
	t.Helper()
	dsn, own := testkit.MySQL(t), testkit.StartRedis(t)
	s := box.EmptySite(t, own.Addr, "", dsn)
	s.Add(t, own.Addr, dsn, testSettings())
	s.Start(t)
	w := writer{shopper: &shopper{Site: s, tb: t}, t: t}
	w.sell()
	w.leavesEntries()
	db := openMySQL(t, dsn)
	w.lastsForEver(db)
	writeFile(t, dir, ledgerFile, dumpRows(t, db, mysqlColumns))
	writeFile(t, dir, redisFile, dumpRedis(t, s.Redis))
	w.write(t, dir)
}

// writeEmbedded writes what a server in the embedded mode leaves.
func writeEmbedded(t *testing.T, dir string) {
	t.Helper()
	data := t.TempDir()
	s := embeddedOn(t, data, testSettings())
	s.Start(t)
	w := writer{shopper: &shopper{Site: s, tb: t}, t: t}
	w.sell()
	if code, err := s.Servers[0].Terminate(); err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	db := openDB(t, "sqlite", "file:"+filepath.Join(data, "seckill.db"))
	w.lastsForEver(db)
	writeFile(t, dir, ledgerFile, dumpRows(t, db, sqliteColumns))
	w.write(t, dir)
}

// writer makes what a release has.
type writer struct {
	*shopper
	release
	t *testing.T
}

// lastsForEver moves what a release ends after days, whatever is asked for, to the end of the running sale, and notes
// the version of the schema. The server has ended.
func (w *writer) lastsForEver(db *sql.DB) {
	w.t.Helper()
	const end = "(SELECT end_time FROM tb_seckill_voucher WHERE voucher_id = ?)"
	for _, statement := range []string{
		"UPDATE tb_voucher_order SET pay_deadline = " + end + " WHERE pay_deadline IS NOT NULL",
		"UPDATE tb_place SET deadline = " + end + " WHERE deadline IS NOT NULL",
		"UPDATE tb_request SET create_time = " + end, // keys are forgotten after thirty days
	} {
		if _, err := db.ExecContext(w.t.Context(), statement, w.Running); err != nil {
			w.t.Fatalf("%s: %v", statement, err)
		}
	}
	err := db.QueryRowContext(w.t.Context(), "SELECT MAX(version_id) FROM tb_migration").Scan(&w.Schema)
	if err == nil {
		w.Epoch, err = w.Ledger.Epoch(w.t.Context(), w.Running)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// knows notes what to ask when the files are read.
func (w *writer) knows(by, path string, args ...any) {
	w.Requests = append(w.Requests, known{Method: http.MethodGet, By: by, Path: fmt.Sprintf(path, args...)})
}

// does sends a request under a key that must succeed, and notes it.
func (w *writer) does(by, key string, body map[string]any, path string, args ...any) box.Reply {
	w.t.Helper()
	k := known{Method: http.MethodPost, By: by, Key: key, Body: body, Path: fmt.Sprintf(path, args...)}
	w.Requests = append(w.Requests, k)
	r, err := w.Client.Do(w.t.Context(), w.request(k))
	if err != nil || r.StatusCode/100 != 2 {
		w.t.Fatalf("%s: %d %s, %v", k.Path, r.StatusCode, r.Body, err)
	}
	return r
}

// creates makes a voucher with a sale that runs since 2026.
func (w *writer) creates(key string, stock int64, fields map[string]any) int64 {
	w.t.Helper()
	body := map[string]any{
		"shopId": 2, "title": key, "payValue": 1000, "actualValue": 10000, "stock": stock,
		"beginTime": "2026-01-01T00:00:00Z", "endTime": forEver,
	}
	maps.Copy(body, fields)
	v := box.Decode[box.Voucher](w.t, w.does("admin", key, body, "/voucher/seckill"))
	return v.ID
}

// buys has a user buy, brings the order to a state, and notes it.
func (w *writer) buys(voucher, user int64, state string) string {
	w.t.Helper()
	order := w.buy(voucher, user)
	w.user = user
	switch state {
	case "unpaid":
	case "cancelled":
		w.post(http.StatusOK, "/order/%s/cancel", order)
	default:
		w.pay(w.beginPayment(order))
	}
	switch state {
	case "refunded":
		if r, err := w.Client.Do(w.t.Context(), box.Request{
			Method: http.MethodPost, URL: w.next("/order/%s/refund", order), Token: box.BuyerToken(user),
		}); err != nil || r.StatusCode/100 != 2 {
			w.t.Fatalf("refunding: %d %s, %v", r.StatusCode, r.Body, err)
		}
	case "redeemed":
		w.does("till", "redeem-"+order, map[string]any{"code": w.code(order)}, "/till/redeem")
	}
	w.awaitStatus(order, state)
	w.knows(strconv.FormatInt(user, 10), "/order/%s", order)
	return order
}

// code returns the code of the user's order.
func (w *writer) code(order string) string {
	w.t.Helper()
	return box.Decode[struct{ Coupon struct{ Code string } }](w.t, w.Client.Whole(w.t, box.Request{
		URL: w.next("/order/%s", order), Token: box.BuyerToken(w.user),
	})).Coupon.Code
}

// sell makes sales that run, wait, have ended and are archived, with orders in every state.
func (w *writer) sell() {
	w.t.Helper()
	w.Note = "Written by make fixture. Its secrets and codes are test values."
	w.Settings = testSettings()
	created := time.Now()
	hook := box.Decode[struct {
		ID     int64
		Secret dispatch.Secret
	}](w.t, w.admin(http.StatusCreated, http.MethodPost, map[string]any{"shopId": 1, "url": hookHere}, "",
		"/admin/webhook"))
	w.Endpoint, w.Secret = hook.ID, hook.Secret
	box.Eventually(w.t, "the endpoint hearing of changes", func() error {
		if time.Since(created) < 1500*time.Millisecond {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	ended, archived := w.creates("ended", 3, nil), w.creates("archived", 3, nil)
	w.running()
	w.waitlist()
	w.creates("to-come", 5, map[string]any{"beginTime": "2098-01-01T00:00:00Z", "guards": map[string]any{
		"tickets":   map[string]any{"delayMs": 10_000, "leadMinutes": 30, "expiryMinutes": 10},
		"challenge": map[string]any{"difficulty": 4, "maxDifficulty": 16},
	}})
	tea := w.does("admin", "tea", map[string]any{
		"shopId": 2, "title": "tea", "payValue": 1000, "actualValue": 1500, "perUser": 2,
	}, "/voucher")
	w.does("301", "tea-please", nil, "/voucher/buy/%d", box.Decode[box.Voucher](w.t, tea).ID)
	for i, sale := range []int64{ended, archived} {
		w.AwaitState(w.t, sale, "on_sale")
		w.buys(sale, int64(401+i), "paid")
		endSoon(w.t, w.Site, sale)
	}
	w.AwaitState(w.t, ended, "ended")
	w.AwaitState(w.t, archived, "ended")
	w.admin(http.StatusOK, http.MethodPost, nil, "", "/voucher/%d/archive", archived)
	w.knows("admin", "/admin/voucher?archived=only")
}

// running makes the sale that runs.
func (w *writer) running() {
	w.t.Helper()
	w.Running = w.creates("running", 30, map[string]any{
		"shopId": 1, "subTitle": "一人一份", "rules": "it's \"one\" \\ 'a' person;", "perUser": 3,
		"guards": map[string]any{
			"limits":     map[string]any{"perUser": map[string]any{"requests": 1000, "seconds": 10}},
			"conditions": map[string]any{"minAgeDays": 7, "dryRun": true},
			"coolDown":   map[string]any{"expired": 2, "minutes": 60},
		},
	})
	w.AwaitState(w.t, w.Running, "on_sale")
	w.does("admin", "five-more", map[string]any{"delta": 5}, "/voucher/%d/stock", w.Running)
	w.Issued = 35
	w.admin(http.StatusOK, http.MethodPatch, map[string]any{"title": "renamed"}, "", "/voucher/%d", w.Running)
	w.does("admin", "template", map[string]any{"voucherId": w.Running, "name": "Friday"}, "/admin/template")
	w.knows("admin", "/admin/template")
	w.Holders, w.Unpaid = map[int64]int64{}, map[string]int64{}
	for i, state := range []string{"unpaid", "unpaid", "paid", "redeemed", "cancelled", "refunded"} {
		user := int64(101 + i)
		order := w.buys(w.Running, user, state)
		switch state {
		case "unpaid":
			w.Unpaid[order] = user
			if i == 0 {
				w.beginPayment(order)
			}
		case "paid":
			w.Coupon = w.code(order)
		case "cancelled", "refunded":
			continue
		}
		id, err := strconv.ParseInt(order, 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		w.Holders[user] = id
	}
	w.knows("admin", "/admin/payment?voucherId=%d", w.Running)
	w.knows("admin", "/admin/order?voucherId=%d", w.Running)
	w.knows("admin", "/admin/audit?voucherId=%d", w.Running)
	w.knows("", "/voucher/%d", w.Running)
}

// waitlist makes a sold-out sale with a list: one who waited has bought, one is invited, one waits.
func (w *writer) waitlist() {
	w.t.Helper()
	w.Waitlist = w.creates("sold-out", 2, map[string]any{"waitlistWindowSeconds": 604_800})
	w.AwaitState(w.t, w.Waitlist, "on_sale")
	list := waitlist{Site: w.Site, buyers: w.Buyers(w.Waitlist)}
	list.buyers.BuyAll(w.t.Context(), 1, box.Users(201, 2))
	list.joined(w.t, "", 211, 212, 213)
	list.cancel(w.t, 201)
	list.await(w.t, 211, "invited")
	if _, err := list.ask(w.t.Context(), http.MethodPost, 211, "/accept"); err != nil {
		w.t.Fatal(err)
	}
	list.await(w.t, 211, "bought")
	list.cancel(w.t, 202)
	list.await(w.t, 212, "invited")
	w.Invited = 212
	for _, user := range []string{"211", "212", "213"} {
		w.knows(user, "/voucher/%d/waitlist", w.Waitlist)
	}
}

// leavesEntries kills the server while orders wait in the stream, packed ones among them, beside a dead letter.
func (w *writer) leavesEntries() {
	w.t.Helper()
	err := w.Redis.XAdd(w.t.Context(), &redis.XAddArgs{
		Stream: w.Redis.StreamKey(), Values: []string{"v", strconv.FormatInt(w.Running, 10), "u", "7"},
	}).Err()
	if err != nil {
		w.t.Fatal(err)
	}
	box.Eventually(w.t, "a dead letter", func() (err error) {
		w.DeadLetters, err = w.Redis.XLen(w.t.Context(), w.Redis.DeadKey()).Result()
		if err == nil && w.DeadLetters != 1 {
			err = fmt.Errorf("%d", w.DeadLetters)
		}
		return err
	})
	w.knows("admin", "/admin/deadletter")
	b := w.Buyers(w.Running)
	b.Units = 3
	release := w.Ledger.LockSale(w.t, w.Running)
	b.BuyAll(w.t.Context(), 1, box.Users(501, 1))
	b.Units = 0
	b.BuyAll(w.t.Context(), 11, box.Users(502, 11))
	expectPacked(w.t, w.Redis)
	if err := w.Servers[0].Kill(); err != nil {
		w.t.Fatal(err)
	}
	release()
	maps.Copy(w.Holders, b.Record.Winners())
	w.knows("501", "/order/%d", w.Holders[501])
}
