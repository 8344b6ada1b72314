package provider

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/remotepay"
)

// link is how the shop and a provider reach each other.
type link struct {
	provider service.Provider
	read     shop.CallbackReader
	sign     func(t *testing.T, n payment.Notice) (header map[string]string, body []byte)
}

// direct is the clearing house by the Go interface.
func direct(_ *testing.T, c *clearing) link {
	return link{c, c.read, func(t *testing.T, n payment.Notice) (map[string]string, []byte) {
		t.Helper()
		body, err := json.Marshal(n)
		if err != nil {
			t.Error(err)
		}
		return map[string]string{"Clearing": "yes"}, body
	}}
}

// overHTTP is the clearing house as a program of its own.
func overHTTP(t *testing.T, c *clearing) link {
	t.Helper()
	server := httptest.NewServer(program(t, c))
	t.Cleanup(server.Close)
	remote := openRemote(t, server.URL, nil, 0)
	return link{remote, remotepay.NewNotices(clearingName, remoteKeys(t), time.Now).Read, signNotice}
}

const remoteSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func remoteKeys(t *testing.T) [][]byte {
	t.Helper()
	key, err := signature.Key(remoteSecret)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{key}
}

func openRemote(t *testing.T, address string, conf *tls.Config, timeout time.Duration) *remotepay.Provider {
	t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := remotepay.New(remotepay.Options{
		Name: clearingName, URL: at, Keys: remoteKeys(t), TLS: conf, Timeout: timeout,
		Metrics: remotepay.NewMetrics(clearingName), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Close)
	return remote
}

// asked is the data of any call.
type asked struct {
	ID, RefundID string
	Amount       int64
}

// program is what a shop writes to connect a provider, in any language: it checks the signature and calls the provider.
func program(t *testing.T, at service.Provider) http.HandlerFunc {
	t.Helper()
	keys := remoteKeys(t)
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h, err := signature.Read(r.Header)
		if err != nil || !h.Signs(keys, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m struct {
			Type string
			Data asked
		}
		if err := json.Unmarshal(body, &m); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		says, err := serve(r, at, m.Type, m.Data)
		_, refused := errors.AsType[*payment.RefusedError](err)
		switch {
		case errors.Is(err, errLost):
			panic(http.ErrAbortHandler)
		case refused:
			says = map[string]string{"state": "refused", "reason": closedAccount}
		case err != nil:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(says) // the caller sees what is missing
	}
}

// serve makes the call of the Go interface.
func serve(r *http.Request, at service.Provider, what string, d asked) (map[string]string, error) {
	of, back := payment.Payment{ID: d.ID, Amount: d.Amount}, payment.Refund{ID: d.RefundID, Amount: d.Amount}
	var o payment.Outcome
	var err error
	switch what {
	case "payment.begin":
		checkout, err := at.Begin(r.Context(), payment.Beginning{Payment: of})
		if c, is := at.(*clearing); is && c.calm {
			checkout.Reference = d.ID
		}
		return map[string]string{"id": d.ID, "url": checkout.URL, "reference": checkout.Reference}, err
	case "payment.cancel":
		return map[string]string{"state": "done"}, at.Cancel(r.Context(), of)
	case "refund.create":
		o, err = at.Refund(r.Context(), of, back)
	default:
		o, err = at.ReadRefund(r.Context(), of, back)
	}
	states := map[payment.RefundState]string{
		payment.RefundDone: "done", payment.RefundPending: "pending", payment.RefundFailed: "refused",
	}
	return map[string]string{
		"refundId": d.RefundID, "state": states[o.State], "reference": o.Reference, "reason": o.Reason,
	}, err
}

// signNotice returns a notice as a program sends it.
func signNotice(t *testing.T, n payment.Notice) (header map[string]string, body []byte) {
	t.Helper()
	types := map[payment.NoticeKind]string{
		payment.NoticePaid: "paid", payment.NoticeProcessing: "processing", payment.NoticeFailed: "failed",
		payment.NoticeRefund: "refund", payment.NoticeDisputed: "disputed", payment.NoticeDisputeWon: "dispute_won",
		payment.NoticeDisputeLost: "dispute_lost",
	}
	data := map[string]any{"id": n.PaymentID, "amount": n.Amount, "reference": n.Reference, "reason": n.Reason}
	if n.Kind == payment.NoticeRefund {
		data["refundId"], data["refundReference"] = n.Refund.ID, n.Refund.Reference
		data["state"] = n.Refund.State.String()
	}
	if !n.Until.IsZero() {
		data["until"] = n.Until
	}
	body, err := json.Marshal(map[string]any{"type": types[n.Kind], "timestamp": time.Now(), "data": data})
	if err != nil {
		t.Error(err)
	}
	return signedAt(time.Now(), remoteKeys(t), body), body
}

// signedAt returns the header of a message.
func signedAt(at time.Time, keys [][]byte, body []byte) map[string]string {
	return map[string]string{
		signature.IDHeader: "n1", signature.TimeHeader: strconv.FormatInt(at.Unix(), 10),
		signature.SignatureHeader: signature.Sign(keys, "n1", at, body),
	}
}
