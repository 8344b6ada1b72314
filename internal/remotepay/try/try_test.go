package try_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/remotepay/try"
	"seckill/internal/sandbox"
)

// TestSandbox holds the sandbox to the cases of all providers, by the Go interface.
func TestSandbox(t *testing.T) {
	t.Parallel()
	quiet, secret := slog.New(slog.DiscardHandler), []byte(strings.Repeat("a secret ", 4))
	provider, err := sandbox.NewProvider(secret, "CNY", quiet)
	if err != nil {
		t.Fatal(err)
	}
	notices, err := sandbox.NewNotices(secret, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	inbox := try.NewInbox(notices.Read)
	taking := httptest.NewServer(inbox)
	t.Cleanup(taking.Close)
	shown := httptest.NewServer(sandbox.NewPages(provider, notices, taking.URL, "", nil, taking.Client(), quiet))
	t.Cleanup(shown.Close)
	results := try.Run(t.Context(), try.Subject{
		Provider: provider, Inbox: inbox, Currency: "CNY", Amount: 1000, Wait: time.Minute,
		Pay: func(ctx context.Context, to service.Checkout) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, shown.URL+to.URL, http.NoBody)
			if err != nil {
				return err
			}
			res, err := shown.Client().Do(r)
			if err != nil {
				return err
			}
			return res.Body.Close()
		},
	}, func(string) {})
	for _, r := range results {
		if r.Err != nil && !r.Advice {
			t.Errorf("%s: %v", r.Case, r.Err)
		}
	}
	if !try.Passed(results) {
		t.Error("the sandbox does not pass")
	}
}

// model is a provider in memory with one fault.
type model struct {
	fault string
	inbox *try.Inbox

	mu      sync.Mutex
	own     int // references that it has made
	begun   map[string]string
	before  map[string]time.Time
	gone    map[string]bool // cancelled
	notices int
	paid    map[string]int64
	refunds map[string]string
	back    int64
}

// next returns another reference. The caller has the lock.
func (m *model) next() string { m.own++; return fmt.Sprint("ref_", m.own) }

func (m *model) Begin(_ context.Context, b payment.Beginning) (service.Checkout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun[b.ID] == "" || m.fault == "begins twice" {
		m.begun[b.ID], m.before[b.ID] = m.next(), b.PayBefore
	}
	to := service.Checkout{URL: "https://p.example/?id=" + b.ID, Reference: m.begun[b.ID]}
	if m.fault == "has no references" {
		to.Reference = ""
	}
	return to, nil
}

func (m *model) Cancel(_ context.Context, p payment.Payment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault == "cancels only what it knows" && m.begun[p.ID] == "" ||
		m.fault == "cancels nothing that is paid" && m.paid[p.ID] > 0 {
		return errors.New("no")
	}
	m.gone[p.ID] = true
	return nil
}

func (m *model) Refund(_ context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.refunds[r.ID] != ""
	switch {
	case known && m.fault != "refunds twice" && m.fault != "refunds twice, and does not say so":
	case m.back+r.Amount > m.paid[p.ID] && m.fault != "refunds anything":
		return payment.Outcome{}, &payment.RefusedError{Reason: "not so much is left"}
	case known && m.fault == "refunds twice, and does not say so":
		m.back += r.Amount
	default:
		m.back, m.refunds[r.ID] = m.back+r.Amount, m.next()
	}
	return payment.Outcome{State: payment.RefundDone, Reference: m.refunds[r.ID]}, nil
}

func (m *model) ReadRefund(_ context.Context, _ payment.Payment, r payment.Refund) (payment.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refunds[r.ID] == "" || m.fault == "forgets refunds" {
		return payment.Outcome{State: payment.RefundFailed}, nil
	}
	return payment.Outcome{State: payment.RefundDone}, nil
}

// pay takes the buyer's money and tells of it until the notice is taken.
func (m *model) pay(ctx context.Context, to service.Checkout) error {
	at, err := url.Parse(to.URL)
	if err != nil {
		return err
	}
	id, cents := at.Query().Get("id"), int64(1000)
	m.mu.Lock()
	m.notices++
	closed := m.gone[id] && m.fault != "takes money of what is cancelled" ||
		time.Now().After(m.before[id]) && m.fault != "takes money too late"
	if !closed {
		m.paid[id] = cents
	}
	notice := fmt.Sprint("n", m.notices)
	m.mu.Unlock()
	switch m.fault {
	case "tells of another amount":
		cents--
	case "tells of another payment":
		id = "pay_0"
	case "has one id for all notices":
		notice = "n"
	}
	for again := 0; !closed; again++ {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
		r.Header.Set("Id", id)
		r.Header.Set("Cents", fmt.Sprint(cents))
		r.Header.Set(signature.IDHeader, notice)
		if m.fault == "has an id for each attempt" {
			r.Header.Set(signature.IDHeader, fmt.Sprint(notice, ".", again))
		}
		w := httptest.NewRecorder()
		m.inbox.ServeHTTP(w, r)
		if w.Code == http.StatusOK || m.fault == "tells once" {
			return nil
		}
	}
	return nil
}

// raw is how the model answers calls that it does not get by its interface.
func (m *model) raw(_ context.Context, t try.Tampered, _ payment.Payment) (try.Reply, error) {
	bad := t == try.Forged || t == try.Old || t == try.NewType
	switch {
	case t == try.Right && m.fault == "decodes no secret", t == try.Text && m.fault != "decodes no secret":
		bad = true
	case t == try.Cancel && m.fault == "cancels what is paid":
		return try.Reply{Status: http.StatusOK, State: "done"}, nil
	}
	if bad {
		return try.Reply{Status: http.StatusUnauthorized}, nil
	}
	return try.Reply{Status: http.StatusOK, State: "refused"}, nil
}

// readModel reads the model's notices.
func readModel(h http.Header) (payment.ReadNotice, error) {
	return func(context.Context, []byte, payment.FindPayment) (payment.Notice, error) {
		n := payment.Notice{PaymentID: h.Get("Id")}
		_, err := fmt.Sscan(h.Get("Cents"), &n.Amount)
		return n, err
	}, nil
}

// TestFindsFaults has each fault found by the case that is about it, and by no other first.
func TestFindsFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"":                                   "",
		"begins twice":                       "begin, repeated",
		"cancels only what it knows":         "cancel, out of order",
		"cancels nothing that is paid":       "cancel, late",
		"tells of another amount":            "paid: the notice",
		"tells of another payment":           "paid: the notice",
		"tells once":                         "paid, lost",
		"refunds twice":                      "refund: a part, repeated",
		"refunds twice, and does not say so": "refund: another part",
		"forgets refunds":                    "refund: how it stands",
		"refunds anything":                   "refund, too early",
		"decodes no secret":                  "signed",
		"takes money of what is cancelled":   "cancel, closed",
		"takes money too late":               "begin, overdue",
		"has no references":                  "paid, found",
		"has one id for all notices":         "paid, another",
		"has an id for each attempt":         "paid, another",
		"cancels what is paid":               "cancel, late: the answer",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			m := &model{
				fault: fault, inbox: try.NewInbox(readModel), begun: map[string]string{}, paid: map[string]int64{},
				refunds: map[string]string{}, before: map[string]time.Time{}, gone: map[string]bool{},
			}
			results := try.Run(t.Context(), try.Subject{
				Provider: m, Inbox: m.inbox, Currency: "CNY", Amount: 1000, Wait: 2 * time.Second, Pay: m.pay,
				Alone: true, Raw: m.raw,
			}, func(string) {})
			found := ""
			for _, r := range results {
				if r.Err != nil && found == "" {
					found = r.Case
				}
			}
			if !strings.HasPrefix(found, want) || (found == "") != (want == "") {
				t.Errorf("found by %q, want %q", found, want)
			}
			advice := slices.Contains([]string{
				"refunds anything", "takes money too late", "has no references", "has one id for all notices",
				"has an id for each attempt", "cancels what is paid",
			}, fault)
			if try.Passed(results) != (want == "" || advice) {
				t.Errorf("passed: %t", try.Passed(results))
			}
		})
	}
}
