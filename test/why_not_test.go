package test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/internal/testkit"
	"seckill/test/box"
)

// why is what a buyer, or staff, is told of a buyer in a sale.
type why struct {
	Order *struct {
		OrderID, Status string
	}
	FirstRefusal *struct {
		Code, Text string
		RefuseTime time.Time
		WithinMS   int64
	}
	FirstSoldOutTime time.Time
	SoldOut          []struct{ From, To time.Time }
	Instances        int
	InstancesDone    int
	Users            int64
	Unwritten        int64
}

// TestWhyNotI sells out at two instances, and asks at either why somebody got nothing: as the buyer, as staff and in
// the report. One instance is stopped and writes its refusals; the other is killed before, and what it lost is counted.
func TestWhyNotI(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn := testkit.MySQL(t)
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	for range 2 {
		site.Add(t, testkit.RedisAddr(t), dsn, nil)
	}
	site.Start(t)
	const units, crowd = 3, 120
	sale := site.CreateSale(t, units, time.Now().Add(time.Hour))
	press := func(s *box.Server, user int64) string {
		t.Helper()
		r, err := site.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.URL(fmt.Sprintf("/voucher/seckill/%d", sale)), Token: box.BuyerToken(user),
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Code
	}
	ask := func(s *box.Server, path, token string) why {
		t.Helper()
		return box.Decode[why](t, site.Client.Must(t, http.StatusOK, box.Request{
			Method: http.MethodGet, URL: s.URL(fmt.Sprintf(path, sale)), Token: token,
		}))
	}
	first, second := site.Servers[0], site.Servers[1]
	for user := range int64(units) {
		if code := press(first, 1+user); code != "" {
			t.Fatalf("buyer %d: %s", 1+user, code)
		}
	}
	for user := range int64(crowd) {
		for _, at := range []struct {
			server *box.Server
			user   int64
		}{{first, 1000 + user}, {second, 2000 + user}} {
			if code := press(at.server, at.user); code != "SOLD_OUT" {
				t.Fatalf("user %d: %q", at.user, code)
			}
		}
	}
	// The instance that refused knows at once.
	w := ask(second, "/voucher/%d/mine", box.BuyerToken(2000))
	r := w.FirstRefusal
	if r == nil || r.Code != "SOLD_OUT" || r.Text == "" || w.Order != nil || r.WithinMS < 1 || r.WithinMS > 5000 ||
		len(w.SoldOut) == 0 || time.Since(r.RefuseTime) > 10*time.Minute {
		t.Fatalf("%+v", w)
	}
	// Its own requests have seen the sale sold out, and none before the last unit was sold.
	if r.RefuseTime.Add(time.Duration(r.WithinMS) * time.Millisecond).Before(w.FirstSoldOutTime) {
		t.Errorf("refused at %v, within %d ms, and first sold out at %v", r.RefuseTime, r.WithinMS, w.FirstSoldOutTime)
	}
	if w := ask(second, "/voucher/%d/mine", box.BuyerToken(1)); w.Order == nil || w.FirstRefusal != nil {
		t.Errorf("a buyer who has one: %+v", w)
	}
	notes := func(s *box.Server, done func(w why) bool) {
		t.Helper()
		box.Eventually(t, "notes", func() error {
			if w := ask(s, "/admin/voucher/%d/refusals?userId=9", box.AdminToken()); !done(w) {
				return fmt.Errorf("%+v", w)
			}
			return nil
		})
	}
	// The second one dies between its note and its refusals, if they are not written yet.
	notes(first, func(w why) bool { return w.Instances == 2 && w.Users == 2*crowd })
	if err := second.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	notes(first, func(w why) bool { return w.Instances >= 2 && w.InstancesDone >= 1 })
	known, lost := int64(0), int64(0)
	for user := range int64(crowd) {
		if w := ask(first, "/voucher/%d/mine", box.BuyerToken(1000+user)); w.FirstRefusal == nil {
			t.Errorf("user %d, whom the instance refused that was stopped, is not known", 1000+user)
		}
		w := ask(first, fmt.Sprintf("/admin/voucher/%%d/refusals?userId=%d", 2000+user), box.AdminToken())
		if w.FirstRefusal == nil {
			lost++
		} else {
			known++
		}
		if user == crowd-1 && w.Unwritten < lost {
			t.Errorf("%d are known, %d are lost, and the sale says %d", known, lost, w.Unwritten)
		}
	}
	t.Logf("the instance that was killed had written %d of %d", known, known+lost)
	report := box.Decode[struct {
		Journal struct {
			FirstSoldOutTime time.Time
			Tenths           []struct{ Users int64 }
		}
	}](t, site.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: first.URL(fmt.Sprintf("/admin/voucher/%d/report", sale)), Token: box.AdminToken(),
	}))
	counted := int64(0)
	for _, tenth := range report.Journal.Tenths {
		counted += tenth.Users
	}
	if counted == 0 || counted > crowd+known || report.Journal.FirstSoldOutTime.IsZero() {
		t.Errorf("%d counted: %+v", counted, report.Journal)
	}
}
