package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"seckill/providers/stripe/internal/wire"
	"seckill/providers/stripe/standin"
)

const (
	apiKey        = "sk_test_standin"
	webhookSecret = "whsec_of_the_endpoint_0123456789abcdef"
	sharedSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	payID         = "pay_1"
)

// rig is the program, between a stand-in for Stripe and one for the service.
type rig struct {
	*testing.T

	stripe  *standin.Server
	service *service
	env     map[string]string
	url     string
	log     *logs
}

// openRig starts all three. change may change the program's settings.
func openRig(t *testing.T, o standin.Options, change func(env map[string]string)) *rig {
	t.Helper()
	r := newRig(t, o)
	if change != nil {
		change(r.env)
	}
	r.start()
	r.stripe.AddEndpoint(r.url+"/stripe/", webhookSecret, "*")
	return r
}

// newRig starts Stripe and the service, and returns the settings for the program.
func newRig(t *testing.T, o standin.Options) *rig {
	t.Helper()
	o.Key, o.Retry = apiKey, 20*time.Millisecond
	if o.Currencies == nil {
		o.Currencies = []string{"EUR", "ISK", "KWD", "MGA"}
	}
	r := &rig{T: t, stripe: standin.New(o), service: newService(t), log: newLogs()}
	at := httptest.NewServer(r.stripe)
	r.stripe.SetBase(at.URL)
	t.Cleanup(func() {
		r.stripe.Close()
		at.Close()
	})
	r.env = map[string]string{
		"STRIPE_API_KEY": apiKey, "STRIPE_API_URL": at.URL, "STRIPE_WEBHOOK_SECRET": webhookSecret,
		"SECKILL_URL": r.service.at.URL + "/payment/callback/cards", "SECKILL_PAYMENT_SECRET": sharedSecret,
		"LISTEN": "127.0.0.1:0",
	}
	return r
}

// start starts the program.
func (r *rig) start() {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, nil, r.getenv, io.Discard, r.log) }()
	r.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
	select {
	case address := <-r.log.address:
		r.url = "http://" + address
		r.env["LISTEN"] = address
	case err := <-ended:
		ended <- err
		r.Fatal(err)
	}
}

func (r *rig) getenv(name string) string { return r.env[name] }

// call makes a call of the service, and returns its status and answer.
func (r *rig) call(kind string, data map[string]any) (int, wire.Answer) {
	r.Helper()
	return r.callSigned(kind, data, sharedSecret, time.Now())
}

func (r *rig) callSigned(kind string, data map[string]any, secret string, at time.Time) (int, wire.Answer) {
	r.Helper()
	all := map[string]any{"id": payID, "orderId": "123", "shopId": 1}
	maps.Copy(all, data)
	body, err := json.Marshal(map[string]any{"type": kind, "timestamp": at, "data": all, "later": []int{1}})
	if err != nil {
		r.Fatal(err)
	}
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		r.Fatal(err)
	}
	signature, err := key.Sign("m1", at, body)
	if err != nil {
		r.Fatal(err)
	}
	status, text := r.post(r.url+"/", body, map[string]string{
		standardwebhooks.HeaderWebhookID: "m1", standardwebhooks.HeaderWebhookSignature: signature,
		standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
	})
	var a wire.Answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		r.Errorf("%s: %d %q: %v", kind, status, text, err)
	}
	return status, a
}

func (r *rig) post(to string, body []byte, header map[string]string) (status int, text string) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return res.StatusCode, string(read)
}

// begin begins a payment, with some data changed, and returns the answer.
func (r *rig) begin(data map[string]any) wire.Answer {
	r.Helper()
	all := map[string]any{
		"amount": 1000, "currency": "EUR", "quantity": 2, "title": "Tea", "language": "de-AT",
		"returnUrl": "https://shop.example/order/123", "payBefore": time.Now().Add(time.Hour),
	}
	maps.Copy(all, data)
	status, a := r.call(wire.Begin, all)
	if status != http.StatusOK {
		r.Errorf("begin: %d %+v", status, a)
	}
	return a
}

// paid begins a payment, pays it, and returns the session and the reference that the service has then.
func (r *rig) paid() (session, reference string) {
	r.Helper()
	session = r.begin(nil).Reference
	if err := r.stripe.Pay(session, false); err != nil {
		r.Fatal(err)
	}
	return session, r.service.next(r.T, wire.Paid).Data.Reference
}

// service is a stand-in for the service: it takes notices.
type service struct {
	at      *httptest.Server
	notices chan wire.Notice

	mu     sync.Mutex
	status []int // of the next answers; none: 200
}

func newService(t *testing.T) *service {
	t.Helper()
	const most = 1000
	s := &service{notices: make(chan wire.Notice, most)}
	key, err := standardwebhooks.NewWebhook(sharedSecret)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payment/callback/cards", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || key.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		n := wire.Notice{ID: r.Header.Get(standardwebhooks.HeaderWebhookID)}
		if err := json.Unmarshal(body, &struct {
			Type *string
			Data *wire.NoticeData
		}{&n.Type, &n.Data}); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		status := http.StatusOK
		if len(s.status) > 0 {
			status, s.status = s.status[0], s.status[1:]
		}
		s.mu.Unlock()
		w.WriteHeader(status)
		s.notices <- n
	})
	s.at = httptest.NewServer(mux)
	t.Cleanup(s.at.Close)
	return s
}

func (s *service) answers(status ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// next returns the next notice of a type; others are left out.
func (s *service) next(t *testing.T, kind string) wire.Notice {
	t.Helper()
	for {
		select {
		case n := <-s.notices:
			if n.Type == kind {
				return n
			}
		case <-t.Context().Done():
			t.Fatalf("no notice %s", kind)
		case <-time.After(time.Minute):
			t.Fatalf("no notice %s within a minute", kind)
		}
	}
}

// none fails if a notice has come.
func (s *service) none(t *testing.T) {
	t.Helper()
	select {
	case n := <-s.notices:
		t.Errorf("the service was told %+v", n)
	default:
	}
}

// logs keeps the log, and finds the address in it.
type logs struct {
	address chan string

	mu  sync.Mutex
	all strings.Builder
}

func newLogs() *logs { return &logs{address: make(chan string, 1)} }

// Write implements io.Writer.
func (l *logs) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := regexp.MustCompile(`msg=serving address=(\S+)`).FindSubmatch(text); m != nil {
		l.address <- string(m[1])
	}
	return l.all.Write(text)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// quiet waits until each event was taken.
func (r *rig) quiet() {
	r.Helper()
	for until := time.Now().Add(time.Minute); !r.stripe.Quiet(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			r.Fatalf("an event is not taken:\n%s", r.log.text())
		}
	}
}
