package provider

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/httpapi/shop"
	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/order/service"
	"seckill/internal/remotepay"
	"seckill/internal/remotepay/try"
	"seckill/internal/testkit"
)

// broken is a provider over HTTP that is broken in some way, until it is mended.
type broken struct {
	link

	remote *remotepay.Provider
	at     *clearing
	server *httptest.Server

	mu      sync.Mutex
	answers http.HandlerFunc // nil: it works
	wrong   *tls.Certificate // nil: it has the right one
}

func openBroken(t *testing.T) *broken {
	t.Helper()
	b := &broken{at: openClearing(t)}
	b.at.calm = true
	works := program(t, b.at)
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		answers := b.answers
		b.mu.Unlock()
		if answers == nil {
			answers = works
		}
		answers(w, r)
	}))
	b.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	b.server.StartTLS()
	t.Cleanup(b.server.Close)
	right := b.server.TLS.Certificates[0]
	b.server.TLS.Certificates, b.server.TLS.GetCertificate = nil, func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.wrong != nil {
			return b.wrong, nil
		}
		return &right, nil
	}
	known := x509.NewCertPool()
	known.AddCert(b.server.Certificate())
	b.remote = openRemote(t, b.server.URL, &tls.Config{RootCAs: known}, 2*time.Second)
	b.link = link{b.remote, remotepay.NewNotices(clearingName, remoteKeys(t), time.Now).Read, signNotice}
	return b
}

// breaks has the provider answer otherwise, or with another certificate; nil and nil: it works again.
func (b *broken) breaks(answers http.HandlerFunc, wrong *tls.Certificate) {
	b.mu.Lock()
	b.answers, b.wrong = answers, wrong
	b.mu.Unlock()
	b.server.CloseClientConnections() // the next call has another connection
	b.remote.Close()
}

// selfSigned is the certificate of somebody else.
func selfSigned(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// brokenMode is a way in which a provider is broken.
type brokenMode struct {
	answers http.HandlerFunc
	wrong   *tls.Certificate
	want    remotepay.Code
}

func brokenModes(t *testing.T) map[string]brokenMode {
	t.Helper()
	says := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	const good = `"url":"https://clearing.example","state":"done"`
	return map[string]brokenMode{
		"hangs": {answers: func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, want: remotepay.Timeout},
		"1 MB": {
			answers: says(200, `{`+good+`,"more":"`+strings.Repeat("x", 1<<20)+`"}`), want: remotepay.TooLarge,
		},
		"nonsense":          {answers: says(200, "<html>welcome"), want: remotepay.Unreadable},
		"redirects":         {answers: says(302, `{`+good+`}`), want: remotepay.Redirect},
		"another id":        {answers: says(200, `{"id":"pay_0",`+good+`}`), want: remotepay.OtherID},
		"wrong certificate": {wrong: selfSigned(t), want: remotepay.Certificate},
	}
}

// TestBroken has a provider over HTTP that hangs, answers 1 MB, nonsense, a redirect, about something else, or has a
// wrong certificate: a buyer who begins to pay reads "try again", staff see since when and why, a refund waits; once
// the provider is mended, everything goes on, and nothing is lost.
func TestBroken(t *testing.T) {
	t.Parallel()
	for name, tc := range brokenModes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBroken(t)
			s := openOn(t, openLedger(t),
				service.Providers{Default: clearingName, ByName: map[string]service.Provider{clearingName: b.provider}},
				map[string]shop.CallbackReader{clearingName: b.read}, true)

			b.breaks(tc.answers, tc.wrong)
			began := time.Now()
			id := s.asBuyer(http.StatusCreated, "/voucher/buy/%d", s.voucher).data.OrderID
			for range 2 {
				a := s.asBuyer(http.StatusServiceUnavailable, "/order/%s/pay", id)
				if !strings.Contains(a.text, "UNAVAILABLE") || !strings.Contains(a.text, "again") {
					t.Errorf("the buyer reads %s", a.text)
				}
			}
			b.sees(t, tc.want, began)
			s.stands(id, "unpaid", "clearing  open")

			b.breaks(nil, nil)
			pay := s.asBuyer(http.StatusOK, "/order/%s/pay", id).data
			b.sees(t, "", began)
			header, body := b.sign(t, b.at.pays(pay.PaymentID))
			if a := s.post("/payment/callback/"+clearingName, header, string(body)); a.status != http.StatusOK {
				t.Errorf("%d %s", a.status, a.text)
			}
			s.stands(id, "paid", "clearing ch_"+pay.PaymentID+" received")

			b.breaks(tc.answers, tc.wrong)
			if a := s.post("/order/"+id+"/refund", s.token(), ""); a.status != http.StatusAccepted {
				t.Errorf("%d %s", a.status, a.text)
			}
			s.stands(id, "refunding", "clearing ch_"+pay.PaymentID+" refunding")
			b.sees(t, tc.want, began)
			b.breaks(nil, nil)
			s.refunded(id)
			want := standing{received: price, refunded: price}
			if got := b.at.statement()[pay.PaymentID]; got != want {
				t.Errorf("the provider has %+v, want %+v", got, want)
			}
		})
	}
}

// sees waits until the health of the provider is as expected: "" for one that answers.
func (b *broken) sees(t *testing.T, want remotepay.Code, began time.Time) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		h := b.remote.Health()
		if want == "" {
			return h.Since.IsZero() && h.Reason == nil
		}
		return h.Reason != nil && h.Reason.Code == want && !h.Since.Before(began.Truncate(time.Second)) && h.Count > 0
	})
}

// TestBrokenNotices has notices with a wrong signature, and from an old time, and about a payment that nobody knows:
// they change nothing, staff see what and when, and the right one is taken after them.
func TestBrokenNotices(t *testing.T) {
	t.Parallel()
	b := openBroken(t)
	s := openOn(t, openLedger(t),
		service.Providers{Default: clearingName, ByName: map[string]service.Provider{clearingName: b.provider}},
		map[string]shop.CallbackReader{clearingName: b.read}, true)
	id, pay := s.order()
	paid := b.at.pays(pay.data.PaymentID)
	header, body := b.sign(t, paid)
	other, err := signature.Key(signature.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	unknown := paid
	unknown.PaymentID = "pay_unknown"
	unknownHeader, unknownBody := b.sign(t, unknown)
	for name, tc := range map[string]struct {
		header map[string]string
		body   []byte
		want   int
	}{
		"a wrong signature": {signedAt(time.Now(), [][]byte{other}, body), body, http.StatusUnauthorized},
		"an old time": {
			signedAt(time.Now().Add(-6*time.Minute), remoteKeys(t), body), body, http.StatusUnauthorized,
		},
		"another id": {unknownHeader, unknownBody, http.StatusNotFound},
	} {
		if a := s.post("/payment/callback/"+clearingName, tc.header, string(tc.body)); a.status != tc.want {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
		s.stands(id, "unpaid", "clearing "+pay.data.PaymentID+" open")
	}
	said := map[payment.Refusal]bool{}
	refused, _ := s.refusals.Taken()
	for _, r := range refused {
		said[r.Refusal] = r.Provider == clearingName
	}
	for _, want := range []payment.Refusal{
		payment.RefusedSignature, payment.RefusedTime, payment.RefusedUnknownPayment,
	} {
		if !said[want] {
			t.Errorf("staff do not see %s: %v", want, said)
		}
	}
	for range 2 {
		if a := s.post("/payment/callback/"+clearingName, header, string(body)); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	s.stands(id, "paid", "clearing ch_"+pay.data.PaymentID+" received")
}

// TestTryFinds has the conformance run find each broken provider, and nothing wrong with one that works.
func TestTryFinds(t *testing.T) {
	t.Parallel()
	forged, err := signature.Key(signature.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	modes := brokenModes(t)
	modes["works"] = brokenMode{}
	for name, want := range map[string]string{
		"hangs": "timeout", "1 MB": "too_large", "nonsense": "unreadable", "redirects": "redirect",
		"another id": "other_id", "wrong certificate": "certificate", "works": "",
		"a wrong signature": "signature does not match", "an old time": "signed 6m0s ago",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBroken(t)
			b.breaks(modes[name].answers, modes[name].wrong)
			inbox := try.NewInbox(b.read)
			results := try.Run(t.Context(), try.Subject{
				Provider: b.remote, Inbox: inbox, Currency: "CNY", Amount: price, Wait: 30 * time.Second,
				Pay: func(ctx context.Context, to service.Checkout) error {
					_, body := b.sign(t, b.at.pays(to.Reference))
					at, keys := time.Now(), remoteKeys(t)
					switch name {
					case "a wrong signature":
						keys = [][]byte{forged}
					case "an old time":
						at = at.Add(-6 * time.Minute)
					}
					for {
						r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
						for member, value := range signedAt(at, keys, body) {
							r.Header.Set(member, value)
						}
						w := httptest.NewRecorder()
						if inbox.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
							return nil
						}
					}
				},
			}, func(string) {})
			last := results[len(results)-1]
			if try.Passed(results) != (want == "") || want != "" && !strings.Contains(last.Err.Error(), want) {
				t.Errorf("%d results, the last is %+v, want %q", len(results), last, want)
			}
		})
	}
}
