package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"seckill/internal/authtoken"
	"seckill/internal/checker"
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/testkit"
	"seckill/test/box"
	"seckill/test/webhooks/receiver"
)

// A release is what a released version has left in its stores in the middle of a sale, in a folder of testdata: of a
// server that was killed the ledger's rows and the commands that make Redis's keys, of the embedded mode the rows
// alone. released_write_test.go writes both. Nothing depends on the day on which it is read: the sales end in 2099, and
// the times to pay, to accept and to repeat a request were moved there. All secrets are test values.
type release struct {
	Note        string            `json:"note"`
	Settings    map[string]string `json:"settings"`
	Schema      int64             `json:"schema"`      // the version of its last migration
	Running     int64             `json:"running"`     // a sale with units left
	Issued      int64             `json:"issued"`      // of it
	Waitlist    int64             `json:"waitlist"`    // a sold-out sale
	Invited     int64             `json:"invited"`     // a user on its list
	Unpaid      map[string]int64  `json:"unpaid"`      // orders of the running sale that can be paid → their users
	Holders     map[int64]int64   `json:"holders"`     // user → their order in the running sale
	Coupon      string            `json:"coupon"`      // a code that was not redeemed
	Endpoint    int64             `json:"endpoint"`    // of webhooks
	Secret      dispatch.Secret   `json:"secret"`      // of the endpoint
	DeadLetters int64             `json:"deadLetters"` // in Redis
	Epoch       int64             `json:"epoch"`       // of both sales in Redis
	Requests    []known           `json:"-"`           // answersFile
}

// known is a request that changes nothing, perhaps because its key was used before, with the answer of the release once
// it had started on its own files.
type known struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	By     string          `json:"by,omitempty"` // admin, till, or a user's number
	Key    string          `json:"key,omitempty"`
	Body   map[string]any  `json:"body,omitempty"`
	Status int             `json:"status"`
	Data   json.RawMessage `json:"data"`
}

// The files of a release.
const (
	releaseFile = "release.json"
	answersFile = "answers.jsonl"
	ledgerFile  = "ledger.sql"
	redisFile   = "redis.jsonl"
)

// aTime stands in an answer for a time that differs from run to run.
const aTime = "a time"

// TestReleased starts the server on what each release has written. Every answer has what it had, the sale goes on
// from where it was, and nothing is sold twice.
func TestReleased(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/[0-9]*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no release", err)
	}
	for _, dir := range dirs {
		t.Run(strings.TrimPrefix(dir, "testdata/"), func(t *testing.T) {
			t.Parallel()
			hook := receiver.New(t)
			r := readRelease(t, dir)
			hook.Expect(r.Secret)
			s := openRelease(t, dir, r, hook.URL())
			s.settled(t, r)
			for _, k := range r.Requests {
				s.answersAs(t, k)
			}
			if t.Failed() {
				return // what follows would wait for what is lost
			}
			s.goesOn(t, r)
			s.sellsOut(t, r)
			s.delivered(t, r)
			hook.Right()
			s.readsRedis(t, r)
		})
	}
}

// readRelease reads what is known of a release.
func readRelease(t *testing.T, dir string) (r release) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, dir, releaseFile)), &r); err != nil {
		t.Fatal(err)
	}
	for lines := json.NewDecoder(strings.NewReader(readFile(t, dir, answersFile))); lines.More(); {
		var k known
		if err := lines.Decode(&k); err != nil {
			t.Fatal(err)
		}
		r.Requests = append(r.Requests, k)
	}
	return r
}

// openRelease puts a release into stores, with the address of the receiver of webhooks, and starts the server on them.
func openRelease(t *testing.T, dir string, r release, hook string) *shopper {
	t.Helper()
	rows := strings.ReplaceAll(readFile(t, dir, ledgerFile), hookHere, hook)
	var s *box.Site
	if _, err := os.Stat(filepath.Join(dir, redisFile)); err == nil {
		dsn, own := testkit.MySQL(t), testkit.StartRedis(t)
		s = box.EmptySite(t, own.Addr, "", dsn)
		db := openMySQL(t, dsn)
		migrateTo(t, db, goose.DialectMySQL, "mysql", r.Schema)
		if _, err := db.ExecContext(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		loadRedis(t, s.Redis, readFile(t, dir, redisFile))
		s.Add(t, own.Addr, dsn, r.Settings)
	} else {
		data := t.TempDir()
		file := "file:" + filepath.Join(data, "seckill.db")
		db := openDB(t, "sqlite", file)
		migrateTo(t, db, goose.DialectSQLite3, "sqlite", r.Schema)
		if _, err := db.ExecContext(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s = embeddedOn(t, data, r.Settings)
	}
	s.Start(t)
	return &shopper{Site: s, tb: t}
}

// settled waits until all orders have rows.
func (s *shopper) settled(t *testing.T, r release) {
	t.Helper()
	for _, sale := range []int64{r.Running, r.Waitlist} {
		box.Eventually(t, "the sale", func() error {
			if v := s.Voucher(t, sale); v.SaleState == "preparing" {
				return fmt.Errorf("sale %d is prepared", sale)
			}
			return nil
		})
	}
	box.Eventually(t, "a row of each order", func() error {
		rows, err := s.Ledger.Orders(t.Context(), r.Running)
		have := map[int64]bool{}
		for _, row := range rows {
			have[row.ID] = true
		}
		for user, id := range r.Holders {
			if !have[id] {
				return fmt.Errorf("order %d of user %d has none, %w", id, user, err)
			}
		}
		return err
	})
	if s.Redis != nil {
		expectOutput(t, s.Site, 0, []string{"balanced"}, "reconcile")
	}
}

// readsRedis fails the test if a sale had to be rebuilt, which hides that its keys are not read as they were written.
// The embedded mode begins with an empty Redis.
func (s *shopper) readsRedis(t *testing.T, r release) {
	t.Helper()
	for _, sale := range []int64{r.Running, r.Waitlist} {
		if epoch, err := s.Ledger.Epoch(t.Context(), sale); err != nil || s.Redis != nil && epoch != r.Epoch {
			t.Errorf("sale %d is at epoch %d, %v; want still %d", sale, epoch, err, r.Epoch)
		}
	}
}

// request makes a request of what is known.
func (s *shopper) request(k known) box.Request {
	r := box.Request{Method: k.Method, URL: s.URL(k.Path)}
	if k.Body != nil {
		r.Body = k.Body
	}
	if k.Key != "" {
		r.Header = map[string]string{"Idempotency-Key": k.Key}
	}
	switch k.By {
	case "":
	case "admin":
		r.Token = box.AdminToken()
	case authtoken.RoleTill:
		claims := box.Claims(9, authtoken.RoleTill)
		claims["shop"] = 1
		r.Token = box.Sign(box.Secret, claims)
	default:
		user, err := strconv.ParseInt(k.By, 10, 64)
		if err != nil {
			s.tb.Fatal(err)
		}
		r.Token = box.BuyerToken(user)
	}
	return r
}

// answersAs fails the test unless the request is answered as it was. Members may have been added.
func (s *shopper) answersAs(t *testing.T, k known) {
	t.Helper()
	got := s.Client.Must(t, k.Status, s.request(k))
	if got.Stale {
		got = s.Client.Whole(t, s.request(k))
	}
	var was, is any
	if err := json.Unmarshal(k.Data, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Data, &is); err != nil {
		t.Fatalf("%s %s: %s, %v", k.Method, k.Path, got.Body, err)
	}
	if wrong := missing("data", was, is); wrong != "" {
		t.Errorf("%s %s by %q: %s\nnow %s\nwas %s", k.Method, k.Path, k.By, wrong, got.Data, k.Data)
	}
}

// missing says what of one value the other has not; "" if it has everything.
func missing(at string, was, is any) string {
	switch was := was.(type) {
	case map[string]any:
		members, ok := is.(map[string]any)
		if !ok {
			return at + " is no object"
		}
		for name, value := range was {
			if wrong := missing(at+"."+name, value, members[name]); wrong != "" {
				return wrong
			}
		}
	case []any:
		items, ok := is.([]any)
		if !ok || len(items) != len(was) {
			return at + " is no list of as many"
		}
		for i := range was {
			if wrong := missing(fmt.Sprint(at, "[", i, "]"), was[i], items[i]); wrong != "" {
				return wrong
			}
		}
	default:
		if _, ok := is.(string); ok && was == aTime {
			return ""
		}
		if was != is {
			return fmt.Sprintf("%s is %v, was %v", at, is, was)
		}
	}
	return ""
}

// goesOn pays, redeems and accepts what the release left unpaid, not redeemed and kept.
func (s *shopper) goesOn(t *testing.T, r release) {
	t.Helper()
	for order, user := range r.Unpaid {
		s.user = user
		s.pay(s.beginPayment(order))
		s.awaitStatus(order, "paid")
	}
	s.Client.Must(t, http.StatusOK, s.request(known{
		Method: http.MethodPost, Path: "/till/redeem", By: authtoken.RoleTill, Key: "of-today",
		Body: map[string]any{"code": r.Coupon},
	}))
	w := waitlist{Site: s.Site, buyers: s.Buyers(r.Waitlist)}
	reply, err := w.ask(t.Context(), http.MethodPost, r.Invited, "/accept")
	if err != nil || reply.StatusCode/100 != 2 {
		t.Fatalf("accepting: %d %s, %v", reply.StatusCode, reply.Body, err)
	}
	w.await(t, r.Invited, "bought")
}

// sellsOut has the buyers of the release ask again, and new ones buy what is left: no more than were issued.
func (s *shopper) sellsOut(t *testing.T, r release) {
	t.Helper()
	b := s.Buyers(r.Running)
	b.Query = "wait=30s"
	for user, order := range r.Holders {
		if a := b.BuyUntilAnswered(t.Context(), user); a.Outcome != checker.Held || a.Order != order {
			t.Errorf("user %d has order %d and is answered %s", user, order, a)
		}
	}
	b.BuyAll(t.Context(), 8, box.Users(100_001, int(r.Issued)))
	var e checker.Evidence
	box.Eventually(t, "the agreement of record, ledger and Redis", func() (err error) {
		if e, err = s.Evidence(t.Context(), b, r.Issued); err != nil {
			return err
		}
		e.Others, e.PerUser = true, 3
		if e.Redis != nil {
			e.Redis.Dead -= r.DeadLetters
		}
		return box.Contradictions(checker.Check(e))
	})
	if e.Live() != r.Issued {
		t.Errorf("%d units are sold, want all %d", e.Live(), r.Issued)
	}
}

// delivered waits until the endpoint has taken all events.
func (s *shopper) delivered(t *testing.T, r release) {
	t.Helper()
	box.Eventually(t, "the delivery of all events", func() error {
		page := s.admin(http.StatusOK, http.MethodGet, nil, "", "/admin/webhook/%d/delivery?limit=100", r.Endpoint)
		all := box.Decode[[]struct{ EventID, State string }](t, page)
		for _, d := range all {
			if d.State != "delivered" {
				return fmt.Errorf("%s is %s", d.EventID, d.State)
			}
		}
		if len(all) == 0 {
			return fmt.Errorf("there is none")
		}
		return nil
	})
}
