package provider

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"seckill/internal/httpapi/shop"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
)

// bankName is what payments and the callback's route call the bank.
const bankName = "bank"

const bankKey = "of the bank's dashboard"

// closedAccount is why the bank never sends some money back.
const closedAccount = "the buyer's account is closed"

// bank is the service that moves the money, somewhere else. Its requests take effect once for each idempotency key.
type bank struct {
	at *httptest.Server

	mu        sync.Mutex
	loses     int               // so many answers get lost
	checkouts map[string]string // id by idempotency key
	charges   map[string]int64  // cents by id
	refunds   map[string]string // charge by idempotency key
	returned  map[string]int64  // cents by charge
	lost      map[string]int64  // cents by charge, in disputes
	disputed  map[string]bool   // charges with an open dispute: nothing of them is sent back
	payments  map[string]string // by charge

	closed map[string]bool // charges whose buyer's account is closed: nothing of them is sent back

	losesRefund bool // the answer to the next refund
}

func startBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{
		checkouts: map[string]string{}, charges: map[string]int64{}, refunds: map[string]string{},
		returned: map[string]int64{},
		lost:     map[string]int64{}, disputed: map[string]bool{}, payments: map[string]string{},
		closed: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /checkouts", b.checkout)
	mux.HandleFunc("POST /refunds", b.refund)
	b.at = httptest.NewServer(mux)
	t.Cleanup(b.at.Close)
	return b
}

func (b *bank) checkout(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	id, known := b.checkouts[key]
	if !known {
		id = fmt.Sprintf("chk_%d", len(b.checkouts)+1)
		b.checkouts[key] = id
	}
	if b.loses > 0 {
		b.loses--
		panic(http.ErrAbortHandler)
	}
	_, _ = fmt.Fprintf(w, `{"id": %q, "url": "https://bank.example/%s"}`, id, id) // the client sees what is missing
}

func (b *bank) refund(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Charge string
		Amount int64
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	b.mu.Lock()
	defer b.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if _, done := b.refunds[key]; done {
		return
	}
	if b.closed[asked.Charge] {
		http.Error(w, closedAccount, http.StatusGone)
		return
	}
	cents, charged := b.charges[asked.Charge]
	if err != nil || !charged || asked.Amount < 1 || b.disputed[asked.Charge] ||
		b.returned[asked.Charge]+b.lost[asked.Charge]+asked.Amount > cents {
		http.Error(w, "no such charge, or not so much of it", http.StatusUnprocessableEntity)
		return
	}
	b.refunds[key] = asked.Charge
	b.returned[asked.Charge] += asked.Amount
	if b.losesRefund {
		b.losesRefund = false
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusOK)
}

// charge takes the buyer's money and returns the notice that the bank sends to the shop. The charge has an id of its
// own.
func (b *bank) charge(payment string, cents int64) (body []byte, signature string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := fmt.Sprintf("chg_%d", len(b.charges)+1)
	b.charges[id], b.payments[id] = cents, payment
	return event("charge.paid", id, payment, cents)
}

// giveBack sends a part of a charge back to the buyer, as the shop's accountant asks for at the bank's counter, and
// returns the notice: it has what has gone back of the charge in all.
// There is none if not so much is left, or while the charge is disputed.
func (b *bank) giveBack(charge, payment string, cents int64) (body []byte, signature string, done bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.disputed[charge] || b.returned[charge]+b.lost[charge]+cents > b.charges[charge] {
		return nil, "", false
	}
	b.returned[charge] += cents
	body, signature = event("charge.refunded", charge, payment, b.returned[charge])
	return body, signature, true
}

// event is a signed notice.
func event(what, charge, payment string, cents int64) (body []byte, signature string) {
	body = fmt.Appendf(nil, `{"event": %q, "charge": %q, "client_reference": %q, "cents": %d}`,
		what, charge, payment, cents)
	return body, hex.EncodeToString(bankMAC(body))
}

// closeAccount closes the account to which a charge would be sent back, or opens it again.
func (b *bank) closeAccount(charge string, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed[charge] = closed
}

func (b *bank) counts() (checkouts, refunds int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.checkouts), len(b.refunds)
}

func bankMAC(body []byte) []byte {
	mac := hmac.New(sha512.New, []byte(bankKey))
	mac.Write(body)
	return mac.Sum(nil)
}

// bankAdapter is what a shop writes to connect the bank: a service.Provider, and a reader of its callbacks.
type bankAdapter struct{ base string }

var _ service.Provider = bankAdapter{}

// Begin implements service.Provider. The payment's id is the idempotency key, so it may be repeated.
func (a bankAdapter) Begin(ctx context.Context, b payment.Beginning) (service.Checkout, error) {
	var opened struct{ ID, URL string }
	err := a.post(ctx, "/checkouts", b.ID, map[string]any{"cents": b.Amount}, &opened)
	return service.Checkout{URL: opened.URL, Reference: opened.ID}, err
}

// Cancel implements service.Provider. The bank's checkouts end by themselves.
func (bankAdapter) Cancel(context.Context, payment.Payment) error { return nil }

// Refund implements service.Provider. The bank knows charges, not payments: the reference is the charge since its
// notice.
func (a bankAdapter) Refund(ctx context.Context, p payment.Payment, r payment.Refund) (payment.Outcome, error) {
	err := a.post(ctx, "/refunds", r.ID, map[string]any{"charge": p.Reference, "amount": r.Amount}, nil)
	return payment.Outcome{State: payment.RefundDone}, err
}

// ReadRefund implements service.Provider. The bank knows no refunds that are on their way.
func (bankAdapter) ReadRefund(context.Context, payment.Payment, payment.Refund) (payment.Outcome, error) {
	return payment.Outcome{State: payment.RefundDone}, nil
}

func (a bankAdapter) post(ctx context.Context, path, key string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, _ = io.ReadAll(res.Body)
	if res.StatusCode == http.StatusGone { // the bank's final no: anything else may pass
		return &payment.RefusedError{Reason: string(text)}
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the bank answers %s: %s", res.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// bankCallback returns a shop.CallbackReader of the bank that payments call by the name.
func bankCallback(name string) shop.CallbackReader {
	return func(h http.Header) (payment.ReadNotice, error) { return readBankCallback(name, h) }
}

func readBankCallback(name string, h http.Header) (payment.ReadNotice, error) {
	signature, err := hex.DecodeString(h.Get("Bank-Signature"))
	if err != nil || len(signature) != sha512.Size {
		return nil, fmt.Errorf("%w: no signature of the bank", payment.ErrBadNotice)
	}
	return func(_ context.Context, body []byte, _ payment.FindPayment) (payment.Notice, error) {
		if !hmac.Equal(signature, bankMAC(body)) {
			return payment.Notice{}, fmt.Errorf("%w: not the bank's signature", payment.ErrBadNotice)
		}
		var event struct {
			Event, Charge string
			Payment       string `json:"client_reference"`
			Cents         int64
		}
		err := json.Unmarshal(body, &event)
		kind, known := map[string]payment.NoticeKind{
			"charge.paid": payment.NoticePaid, "charge.refunded": payment.NoticeReturned,
			"dispute.opened": payment.NoticeDisputed, "dispute.won": payment.NoticeDisputeWon,
			"dispute.lost": payment.NoticeDisputeLost,
		}[event.Event]
		if err != nil || !known {
			return payment.Notice{}, errors.Join(payment.ErrBadNotice, err)
		}
		return payment.Notice{
			Kind: kind, PaymentID: event.Payment, Amount: event.Cents, Provider: name, Reference: event.Charge,
		}, nil
	}, nil
}
