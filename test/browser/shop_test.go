package browser

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"seckill/internal/httpapi"
	"seckill/internal/testkit"
)

// secret signs the tokens of real shops.
const secret = "a secret for the tests with browsers, long enough"

// admin is the user whose token tests change shops with.
const admin = 1

// shop is a running service.
type shop struct {
	tb   testing.TB
	addr string
}

// binary is the server as it is released, built once for all tests. The file has one name for each checkout, so that runs
// leave no trail of binaries behind, and is moved into place whole, so that another run never starts half of it.
var binary = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "seckill-test", fmt.Sprintf("browser-%x", sha256.Sum256([]byte(root)))[:24])
	built := fmt.Sprintf("%s.%d", path, os.Getpid())
	build := exec.CommandContext(context.Background(), "go", "build", "-o", built, "./cmd/server")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return path, os.Rename(built, path)
})

// embeddedShop is a service with nothing but a data directory, and with its demonstration sale.
func embeddedShop(tb testing.TB) *shop {
	tb.Helper()
	return start(tb, map[string]string{"SECKILL_DATA_DIR": filepath.Join(tb.TempDir(), "data"), "SECKILL_JWT_SECRET": secret})
}

// realShop is a service on real stores, with nothing on offer; more are settings besides, NAME and value in turn.
func realShop(tb testing.TB, more ...string) *shop {
	tb.Helper()
	_, prefix := testkit.Redis(tb)
	settings := map[string]string{
		"SECKILL_REDIS_ADDRS": testkit.RedisAddr(tb), "SECKILL_REDIS_PREFIX": prefix, "SECKILL_MYSQL_DSN": testkit.MySQL(tb),
		"SECKILL_JWT_SECRET": secret, "SECKILL_PAYMENT_PROVIDER": "sandbox", "SECKILL_PAYMENT_SECRET": secret,
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return start(tb, settings)
}

// start starts a service on a free port and waits until it is ready to sell.
func start(tb testing.TB, settings map[string]string) *shop {
	tb.Helper()
	program, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	var said journal
	server := exec.CommandContext(context.WithoutCancel(tb.Context()), program, "serve")
	server.Env = []string{"PATH=" + os.Getenv("PATH"), "SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_OPS_ADDR=off"}
	for name, value := range settings {
		server.Env = append(server.Env, name+"="+value)
	}
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = server.Wait()                          // how it ended is no matter of these tests
		if tb.Failed() {
			tb.Logf("the server said:\n%s", said.String())
		}
	})
	s := &shop{tb: tb}
	listening := regexp.MustCompile(`msg=listening .*address=(\S+)`)
	s.await("the server's address", func() bool {
		found := listening.FindStringSubmatch(said.String())
		if found != nil {
			s.addr = found[1]
		}
		return found != nil
	})
	s.await("the server being ready", func() bool {
		status, _ := s.ask(http.MethodGet, "/readyz", 0, nil)
		return status == http.StatusOK
	})
	return s
}

// journal is a log that is written while it is read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// await waits for something that another process does.
func (s *shop) await(what string, done func() bool) {
	s.tb.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			s.tb.Fatalf("%s: not within %s", what, patience)
		}
		time.Sleep(20 * time.Millisecond) // between two looks at another process
	}
}

// url is the address of a path.
func (s *shop) url(path string) string { return "http://" + s.addr + path }

// token is a token of a user, an admin's for admin.
func (s *shop) token(user int64) string {
	s.tb.Helper()
	role := ""
	if user == admin {
		role = httpapi.RoleAdmin
	}
	token, err := httpapi.SignToken([]byte(secret), user, role, time.Hour, "", "", time.Now())
	if err != nil {
		s.tb.Fatal(err)
	}
	return token
}

// ask sends a request as a user, 0 being nobody, and returns the status and the data of the answer.
func (s *shop) ask(method, path string, user int64, body any) (status int, data json.RawMessage) {
	s.tb.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url(path), bytes.NewReader(text))
	if err != nil {
		s.tb.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", strconv.FormatInt(time.Now().UnixNano(), 10))
	if user != 0 {
		request.Header.Set("Authorization", s.token(user))
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer answer.Body.Close()
	whole, err := io.ReadAll(answer.Body)
	if err != nil {
		s.tb.Fatal(err)
	}
	var envelope struct{ Data json.RawMessage }
	_ = json.Unmarshal(whole, &envelope) // what is no envelope has no data
	return answer.StatusCode, envelope.Data
}

// must is ask for what has to succeed.
func (s *shop) must(method, path string, user int64, body, data any) {
	s.tb.Helper()
	status, got := s.ask(method, path, user, body)
	if status >= http.StatusMultipleChoices {
		s.tb.Fatalf("%s %s: %d", method, path, status)
	}
	if data == nil {
		return
	}
	if err := json.Unmarshal(got, data); err != nil {
		s.tb.Fatalf("%s %s: %s: %v", method, path, got, err)
	}
}

// offer puts a sale up, and returns its voucher's number once the shop shows it in a state.
func (s *shop) offer(title string, stock int64, begin, end time.Time, state string) int64 {
	s.tb.Helper()
	var made struct{ ID int64 }
	s.must(http.MethodPost, "/voucher/seckill", admin, map[string]any{
		"shopId": 1, "title": title, "subTitle": "In the old town", "payValue": 1000, "actualValue": 5000,
		"rules": "One to a person. Not together with other offers.", "stock": stock, "beginTime": begin, "endTime": end,
	}, &made)
	s.awaitState(made.ID, state)
	return made.ID
}

// awaitState waits until the shop shows a sale in a state.
func (s *shop) awaitState(voucher int64, state string) {
	s.tb.Helper()
	s.await(fmt.Sprintf("voucher %d being %s", voucher, state), func() bool {
		var shown struct{ SaleState string }
		s.must(http.MethodGet, fmt.Sprintf("/voucher/%d", voucher), 0, nil, &shown)
		return shown.SaleState == state
	})
}

// onSale puts up a sale that is open now.
func (s *shop) onSale(title string, stock int64) int64 {
	s.tb.Helper()
	return s.offer(title, stock, time.Now().Add(-time.Hour), time.Now().Add(26*time.Hour), "on_sale")
}

// orders returns a user's orders, as "voucher status", newest first.
func (s *shop) orders(user int64) []string {
	s.tb.Helper()
	var list []struct {
		VoucherID int64
		Status    string
	}
	s.must(http.MethodGet, "/order", user, nil, &list)
	told := make([]string, len(list))
	for i, o := range list {
		told[i] = fmt.Sprintf("%d %s", o.VoucherID, o.Status)
	}
	return told
}

// signedIn is a look at a shop by a user who has signed in before.
func (s *shop) signedIn(l look, user int64) look {
	s.tb.Helper()
	l.script += fmt.Sprintf("if (location.host) localStorage.setItem('seckill.token', %s);", quoted(s.token(user)))
	return l
}

// through is the shop's address behind a proxy.
func (s *shop) through(p *testkit.Proxy) string {
	return (&url.URL{Scheme: "http", Host: p.Addr, Path: "/"}).String()
}
