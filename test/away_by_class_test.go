package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/sandbox"
	"seckill/test/box"
)

// awayError is an error by which a server, a proxy or a managed service does not serve now.
type awayError struct {
	number uint16
	state  string
	text   string
}

// awayErrors has an error of each SQLSTATE class that is not the statement's, and twenty and more numbers of proxies
// and managed services.
func awayErrors() []awayError {
	return []awayError{
		{1040, "08004", "Too many connections"},
		{1045, "28000", "Access denied for user 'app'@'10.0.0.9'"},
		{1044, "42000", "Access denied for user 'app'@'%' to database 'seckill'"},
		{1047, "08S01", "WSREP has not yet"},
		{1049, "42000", "Unknown database 'seckill'"},
		{1053, "08S01", "Server shutdown in progress"},
		{1114, "HY000", "The table 'tb_voucher' is full"},
		{1129, "HY000", "Host '10.0.0.9' is blocked"},
		{1142, "42000", "INSERT command denied to user 'app'"},
		{1158, "08S01", "Got an error reading packets"},
		{1180, "HY000", "Got error 5 during COMMIT"},
		{1203, "42000", "User app already has more than"},
		{1205, "HY000", "Lock wait timeout exceeded"},
		{1213, "40001", "Deadlock found"},
		{1226, "42000", "User 'app' has exceeded the 'max_questions' resource"},
		{1227, "42000", "Access denied; SUPER"},
		{1290, "HY000", "running with the --read-only option"},
		{1317, "70100", "Query execution was interrupted"},
		{1615, "HY000", "Prepared statement needs to be re-prepared"},
		{1290, "HY000", "--super-read-only"},
		{1792, "25006", "Cannot execute statement in a READ ONLY transaction"},
		{1836, "HY000", "Running in read-only mode"},
		{1927, "70100", "Connection was killed"},
		{1927, "HY000", "Lost connection to backend server"},
		{2003, "HY000", "Can't connect to MySQL server on 'db-1'"},
		{2006, "HY000", "MySQL server has gone away"},
		{2013, "HY000", "Lost connection to MySQL server during query"},
		{3024, "HY000", "maximum statement execution time"},
		{3100, "HY000", "Error on observer while running replication hook 'before_commit'"},
		{3168, "HY000", "Server isn't available"},
		{3169, "HY000", "Session was killed"},
		{4031, "HY000", "disconnected"},
		{8000, "HY000", "a shard is not serving"},
		{9001, "HY000", "Max connect timeout reached while reaching hostgroup"},
		{9006, "HY000", "ProxySQL Error: connection is locked to hostgroup"},
		{1105, "HY000", "vttablet: not serving"},
		{1105, "0A000", "no class that anybody names"},
		{65_535, "XX000", "a class of somebody's own"},
		{1235, "42000", "This version doesn't yet support"},
		{1040, "", "a proxy without SQLSTATE"},
	}
}

// awayByClass answers each query with each of them, on every changing route, while jobs meet them too. Callers
// are answered 503, or truly; no order fails, none becomes a dead letter, and five seconds later all is as before.
func (w *lostCommits) awayByClass() {
	w.t.Helper()
	b := w.Buyers(w.sale(1000, nil))
	for i, r := range awayErrors() {
		w.proxy.Answer(mysqlQuery, mysqlError(r.number, cmp.Or(r.state, "HY000"), r.text))
		for _, a := range w.asked {
			switch header := a.request.Header; {
			case header[sandbox.SignatureHeader] != "":
				a.request = signedNow(w.t, a.request)
			case header != nil:
				w.keys++
				a.request.Header = map[string]string{"Idempotency-Key": fmt.Sprint("key-", w.keys)}
			}
			got, err := w.Client.Do(w.t.Context(), a.request)
			if err != nil {
				w.t.Fatalf("%s: %v", a.route, err)
			}
			said := strings.TrimSpace(fmt.Sprint(got.StatusCode, " ", got.Code))
			page := got.StatusCode == http.StatusBadGateway && strings.HasPrefix(a.route, "POST /sandbox/")
			if said != "503 UNAVAILABLE" && said != a.again && !page {
				w.t.Errorf("%d (%s): %s is answered %s, want 503 or %s", r.number, r.state, a.route, said, a.again)
			}
		}
		b.BuyAll(w.t.Context(), 1, box.Users(int64(2000+i), 1))
		if ready := w.ready(); !strings.Contains(ready, fmt.Sprint("Error ", r.number)) ||
			strings.Contains(ready, "10.0.0.9") {
			w.t.Errorf("%d: /readyz says %s", r.number, ready)
		}
		w.proxy.Heal()
	}
	healed := time.Now()
	box.Eventually(w.t, "the rows of all that was accepted", func() error {
		n := w.number("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status = 1", b.Voucher)
		if n != int64(len(awayErrors())) {
			return fmt.Errorf("%d of %d", n, len(awayErrors()))
		}
		return nil
	})
	if took := time.Since(healed); took > 5*time.Second {
		w.t.Errorf("recording needed %v to go on", took)
	}
	letters, err := w.Redis.XLen(w.t.Context(), w.Redis.DeadKey()).Result()
	failed := w.number("SELECT COUNT(*) FROM tb_voucher_order WHERE voucher_id = ? AND status = 7", b.Voucher)
	if err != nil || letters > 0 || failed > 0 {
		w.t.Errorf("%d orders failed, %d dead letters, %v", failed, letters, err)
	}
	w.Check(w.t, b, 1000)
}

// signedNow signs a notice anew, as a busy machine comes to it only after the five minutes for which it is taken.
func signedNow(tb testing.TB, r box.Request) box.Request {
	tb.Helper()
	var notice struct {
		PaymentID string `json:"paymentId"`
	}
	body, _ := r.Body.([]byte)
	if err := json.Unmarshal(body, &notice); err != nil {
		tb.Fatal(err)
	}
	signed := paidNotice(tb, r.URL, notice.PaymentID)
	r.Body, r.Header = signed.Body, signed.Header
	return r
}

// ready returns the report of /readyz.
func (w *lostCommits) ready() string {
	w.t.Helper()
	time.Sleep(600 * time.Millisecond) // a report is reused for half a second
	got, err := w.Client.Do(w.t.Context(), box.Request{Method: http.MethodGet, URL: w.URL("/readyz")})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(got.Body)
}

// mysqlQuery is how every text query begins on the wire.
const mysqlQuery = "\x00\x00\x03"

// mysqlError is a server's answer to a query: an error with its number, SQLSTATE and text.
func mysqlError(number uint16, state, text string) []byte {
	const failed, marker, sequence = 0xff, '#', 1
	body := append([]byte{failed, byte(number), byte(number >> 8), marker}, state+text...)
	return append([]byte{byte(len(body)), 0, 0, sequence}, body...)
}
