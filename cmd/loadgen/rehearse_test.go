package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/test/box"
)

// run runs loadgen in this process and returns its exit code and output.
func run(ctx context.Context, key string, args ...string) (code int, stdout, stderr string) {
	return runUntil(ctx, func() {}, key, args...)
}

// runUntil is run with a function that is called once another signal would kill the process.
func runUntil(ctx context.Context, stop func(), key string, args ...string) (code int, stdout, stderr string) {
	var out, log bytes.Buffer
	env := environment{args: args, out: &out, err: &log, stop: stop, getenv: func(name string) string {
		if name == "SECKILL_JWT_SECRET" {
			return key
		}
		return ""
	}}
	code = realMain(ctx, env)
	return code, out.String(), log.String()
}

// once returns a function that is true only at its first call.
func once() func() bool {
	var done atomic.Bool
	return func() bool { return done.CompareAndSwap(false, true) }
}

func isPurchase(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/voucher/seckill/")
}

func isLookup(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/order/") }

const soldOut = `{"success":false,"code":"SOLD_OUT"}`

// answer writes a JSON answer.
func answer(w http.ResponseWriter, status int, body string) bool {
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client notices if it fails
	return true
}

// TestRehearsal rehearses small sales, 60 buyers for 50 units, against the real service, through a proxy that tampers
// with requests and answers. Loadgen must find real errors, and must not report difficulties that the service survives.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	at := box.EmbeddedSite(t).URL("")
	tests := []struct {
		name string
		args []string
		by   func() tamperer
		code int
		want []string // texts in the output
	}{
		{"honest", nil, func() tamperer { return tamperer{} }, exitVerified, []string{
			"VERIFIED: nothing lost, nothing sold twice", "50  accepted", "10  refused SOLD_OUT",
			"50 live orders, 0 shown",
		}},
		{"think time and wait", []string{"-think", "20ms", "-wait", "2s", "-curve", "ramp"}, func() tamperer {
			return tamperer{}
		}, exitVerified, []string{"50  accepted"}},
		{
			"every fourth answer is lost", nil, lostAnswers, exitVerified,
			[]string{"50 live orders", "held", "unknown connection lost"},
		},
		{
			"units are added meanwhile", nil, func() tamperer { return addsUnits(t, at) }, exitVerified,
			[]string{"60 units issued (+10 meanwhile), 60 live orders"},
		},
		{"busy at first", nil, busy, exitVerified, []string{"3  later UNAVAILABLE", "50  accepted"}},
		{"every outcome is unknown", []string{"-retry", "1"}, func() tamperer {
			return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
				if isPurchase(r) {
					return http.StatusGatewayTimeout, `{"code":"UNKNOWN_OUTCOME"}`
				}
				return status, body
			}}
		}, exitVerified, []string{
			"120  unknown UNKNOWN_OUTCOME", "60 buyers stopped asking before they had an outcome", "50 live orders",
		}},
		{"an accepted order is not found", nil, func() tamperer {
			var first atomic.Value
			return tamperer{before: func(w http.ResponseWriter, r *http.Request) bool {
				if !isLookup(r) {
					return false
				}
				first.CompareAndSwap(nil, r.URL.Path)
				return first.Load() == r.URL.Path && answer(w, http.StatusNotFound,
					`{"success":false,"code":"NOT_FOUND"}`)
			}}
		}, exitFindings, []string{"WRONG", "I3 ", "is missing", "buy: accepted"}},
		{"an order stays queued", nil, func() tamperer {
			return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
				if isLookup(r) {
					body = strings.ReplaceAll(body, `"unpaid"`, `"queued"`)
				}
				return status, body
			}}
		}, exitFindings, []string{"I3 ", "is still queued"}},
		{
			"one order is listed twice", nil, doubled, exitFindings,
			[]string{"I2 ", "has the live orders", "I1 ", "51 units in live orders, but 50 were issued"},
		},
		{"one order id for two buyers", nil, sharedID, exitFindings, []string{"I10 ", "both got order"}},
		{"sold stock is shown", nil, func() tamperer {
			return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
				return status, strings.ReplaceAll(body, `"stock":0,`, `"stock":1,`)
			}}
		}, exitFindings, []string{"I5 ", "1 units are shown as left"}},
		{"sold out too early", []string{"-connections", "1"}, func() tamperer {
			first := once()
			return tamperer{before: func(w http.ResponseWriter, r *http.Request) bool {
				return isPurchase(r) && first() && answer(w, http.StatusConflict, soldOut)
			}}
		}, exitFindings, []string{"I6 ", "got SOLD_OUT before 50 units had been requested"}},
		{"a winner is refused", nil, func() tamperer {
			first := once()
			return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
				if isPurchase(r) && first() {
					return http.StatusConflict, soldOut
				}
				return status, body
			}}
		}, exitFindings, []string{"I6 ", "never got it in an answer"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{
				"-url", through(t, at, tt.by()), "-buyers", "60", "-stock", "50", "-duration", "200ms", "-connections",
				"16", "-pause", "10ms", "-first-user", fmt.Sprint(1000 * (i + 1)), "-settle", settle(tt.code),
			}, tt.args...)
			code, out, log := run(t.Context(), box.Secret, args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", log, out)
			}
		})
	}
	t.Run("tokens from a file", func(t *testing.T) { t.Parallel(); testTokenFile(t, at) })
	t.Run("longest", func(t *testing.T) { t.Parallel(); testLongest(t, at) })
	t.Run("interrupted", func(t *testing.T) { t.Parallel(); testInterrupted(t, at) })
	t.Run("interrupted twice", func(t *testing.T) { t.Parallel(); testInterruptedTwice(t, at) })
}

// settle returns a long time if everything agrees in the end, and a short one if it never does.
func settle(code int) string {
	if code == exitFindings {
		return "1s"
	}
	return "40s"
}

// lostAnswers cuts every fourth connection after the service has handled its purchase.
func lostAnswers() tamperer {
	var n atomic.Int64
	return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
		if isPurchase(r) && n.Add(1)%4 == 0 {
			return status, ""
		}
		return status, body
	}}
}

// busy refuses the first three purchases for a second.
func busy() tamperer {
	var n atomic.Int64
	return tamperer{before: func(w http.ResponseWriter, r *http.Request) bool {
		if !isPurchase(r) || n.Add(1) > 3 {
			return false
		}
		w.Header().Set("Retry-After", "1")
		return answer(w, http.StatusServiceUnavailable, `{"success":false,"code":"UNAVAILABLE"}`)
	}}
}

// addsUnits has an admin add ten units before the first purchase.
func addsUnits(t *testing.T, at string) tamperer {
	t.Helper()
	first, client := once(), box.NewClient(t)
	return tamperer{before: func(_ http.ResponseWriter, r *http.Request) bool {
		if !isPurchase(r) || !first() {
			return false
		}
		reply, err := client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: at + strings.Replace(r.URL.Path, "/seckill/", "/", 1) + "/stock",
			Token:  box.AdminToken(),
			Header: map[string]string{"Idempotency-Key": "more"}, Body: map[string]any{"delta": 10},
		})
		if err != nil || reply.StatusCode >= http.StatusMultipleChoices {
			t.Errorf("adding units: %d %s, %v", reply.StatusCode, reply.Body, err)
		}
		return false
	}}
}

// doubled adds a copy of one order, with another id, to the list of all orders.
func doubled() tamperer {
	first := regexp.MustCompile(`^{"success":true,"data":\[({"id":")(\d)([^}]*}),`)
	return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
		if r.URL.Path == "/admin/order" {
			body = first.ReplaceAllString(body, `{"success":true,"data":[$1$2$3,${1}1$3,`)
		}
		return status, body
	}}
}

// sharedID gives the second winner the first winner's order id.
func sharedID() tamperer {
	var mu sync.Mutex
	var kept string
	return tamperer{after: func(r *http.Request, status int, body string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if !isPurchase(r) || status != http.StatusCreated {
			return status, body
		}
		switch kept {
		case "":
			kept = body
		case "done":
		default:
			body, kept = kept, "done"
		}
		return status, body
	}}
}

// testTokenFile rehearses the demonstration sale with only buyers' tokens: the list of all orders is combined from the
// buyers' own lists.
func testTokenFile(t *testing.T, at string) {
	const buyers = 20
	signer, err := readTokens(func(name string) string {
		if name == "SECKILL_JWT_SECRET" {
			return box.Secret
		}
		return ""
	}, "", "", 500)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range buyers {
		lines = append(lines, signer.of(i))
	}
	dir := t.TempDir()
	file, report := filepath.Join(dir, "tokens"), filepath.Join(dir, "report.json")
	if err = os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, log := run(t.Context(), "", "-url", at, "-voucher", "1", "-tokens", file, "-rate", "100", "-curve",
		"flat", "-json", report)
	if code != exitVerified || !strings.Contains(out,
		"20 live orders, 80 shown as left; 20 orders found by their owners, 20 in the list") {
		t.Errorf("exit code %d\n%s\n%s", code, log, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Requests int
		Findings []any
		Answers  []count
		Timeline []second
		FromDue  latency
	}
	if err = json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Requests != buyers || got.Findings == nil || len(got.Answers) != 1 || got.Answers[0].Count != buyers ||
		len(got.Timeline) == 0 || got.FromDue.P50 <= 0 {
		t.Errorf("the report says %+v\n%s", got, text)
	}
}

// testLongest checks that a rush longer than -longest ends by itself, and that its purchases until then are verified.
func testLongest(t *testing.T, at string) {
	code, out, log := run(t.Context(), box.Secret, "-url", at, "-buyers", "100000", "-stock", "1000", "-duration",
		"20h", "-longest", "1s", "-curve", "flat", "-first-user", "800000")
	if code != exitInterrupted || !strings.Contains(out, "Ended early") || !strings.Contains(out, "VERIFIED") {
		t.Errorf("exit code %d\n%s\n%s", code, log, out)
	}
}

// testInterrupted ends a long rehearsal with Ctrl-C, and checks that its purchases until then are verified.
func testInterrupted(t *testing.T, at string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	proxy := through(t, at, tamperer{before: func(_ http.ResponseWriter, r *http.Request) bool {
		if isPurchase(r) && n.Add(1) == 20 {
			cancel()
		}
		return false
	}})
	code, out, log := run(ctx, box.Secret, "-url", proxy, "-buyers", "100000", "-stock", "1000", "-duration", "1000s",
		"-curve", "flat", "-first-user", "900000")
	if code != exitInterrupted || !strings.Contains(out, "Ended early") || !strings.Contains(out, "VERIFIED") {
		t.Errorf("exit code %d\n%s\n%s", code, log, out)
	}
}

// testInterruptedTwice checks that a second Ctrl-C kills the program while an answer is outstanding, and that a signal
// right after the first one does not.
func testInterruptedTwice(t *testing.T, at string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var interrupted time.Time
	ends := make(chan time.Time, 10) // when another signal would kill the program
	first := once()
	proxy := through(t, at, tamperer{before: func(_ http.ResponseWriter, r *http.Request) bool {
		if !isPurchase(r) || !first() {
			return false
		}
		interrupted = time.Now()
		cancel()
		select {
		case at := <-ends:
			if early := signalPause - at.Sub(interrupted); early > 0 {
				t.Errorf("a signal right after the first one kills it: %s too early", early)
			}
		case <-r.Context().Done():
			t.Error("a second signal does not kill it while an answer is outstanding")
		}
		return false
	}})
	runUntil(ctx, func() { ends <- time.Now() }, box.Secret, "-url", proxy, "-buyers", "100", "-stock", "100",
		"-duration", "100s", "-curve", "flat", "-timeout", "10s", "-first-user", "950000")
}
