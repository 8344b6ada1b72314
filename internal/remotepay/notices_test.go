package remotepay_test

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
	"seckill/internal/remotepay"
)

// signed returns the header of a body that was signed at a time with the key.
func signed(with [][]byte, at time.Time, body string) http.Header {
	h := http.Header{}
	h.Set(signature.IDHeader, "n1")
	h.Set(signature.TimeHeader, strconv.FormatInt(at.Unix(), 10))
	h.Set(signature.SignatureHeader, signature.Sign(with, "n1", at, []byte(body)))
	return h
}

func TestNotices(t *testing.T) {
	t.Parallel()
	now := time.Unix(1700000000, 0)
	n := remotepay.NewNotices("cards", key(t), func() time.Time { return now })
	until := time.Date(2026, 11, 12, 13, 0, 0, 0, time.UTC)
	for body, want := range map[string]payment.Notice{
		`{"type":"paid","timestamp":"2026-11-11T20:00:00Z","data":{"id":"p","amount":1000,"reference":"c","x":1}}`: {
			Kind: payment.NoticePaid, PaymentID: "p", Amount: 1000, Reference: "c",
		},
		`{"type":"processing","data":{"id":"p","amount":1000,"until":"2026-11-12T21:00:00+08:00"}}`: {
			Kind: payment.NoticeProcessing, PaymentID: "p", Amount: 1000, Until: until,
		},
		`{"type":"failed","data":{"id":"p","reason":"no cover"}}`: {
			Kind: payment.NoticeFailed, PaymentID: "p", Reason: "no cover",
		},
		`{"type":"cancelled","data":{"id":"p"}}`: {Kind: payment.NoticeCancelled, PaymentID: "p"},
		`{"type":"refund","data":{"id":"p","refundId":"p-1","refundReference":"re",` +
			`"amount":5,"state":"failed","reason":"closed"}}`: {
			Kind: payment.NoticeRefund, PaymentID: "p", Amount: 5, Reason: "closed",
			Refund: payment.RefundNotice{ID: "p-1", Reference: "re", State: payment.RefundFailed},
		},
		`{"type":"disputed","data":{"id":"p","amount":5}}`: {
			Kind: payment.NoticeDisputed, PaymentID: "p", Amount: 5,
		},
		`{"type":"dispute_won","data":{"id":"p","amount":5}}`: {
			Kind: payment.NoticeDisputeWon, PaymentID: "p", Amount: 5,
		},
		`{"type":"dispute_lost","data":{"id":"p","amount":5}}`: {
			Kind: payment.NoticeDisputeLost, PaymentID: "p", Amount: 5,
		},
	} {
		want.Provider = "cards"
		read, err := n.Read(signed(key(t), now, body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), []byte(body), nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Check() != nil {
			t.Errorf("%s: %v, %v\n%s", body, err, got.Check(), diff)
		}
	}
}

func TestNoticesRefused(t *testing.T) {
	t.Parallel()
	now := time.Unix(1700000000, 0)
	other, err := signature.Key(signature.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"type":"paid","data":{"id":"p","amount":1000}}`
	for name, tc := range map[string]struct {
		keys [][]byte
		age  time.Duration
		body string
		want payment.Refusal // "": it is ignored
	}{
		"another secret": {[][]byte{other}, 0, good, payment.RefusedSignature},
		"no signature":   {nil, 0, good, payment.RefusedSignature},
		"old":            {key(t), 301 * time.Second, good, payment.RefusedTime},
		"ahead":          {key(t), -301 * time.Second, good, payment.RefusedTime},
		"no JSON":        {key(t), 0, "paid", payment.RefusedUnreadable},
		"two":            {key(t), 0, good + good, payment.RefusedUnreadable},
		"no type":        {key(t), 0, `{"data":{"id":"p"}}`, payment.RefusedUnreadable},
		"no data":        {key(t), 0, `{"type":"paid"}`, payment.RefusedUnreadable},
		"half a cent":    {key(t), 0, `{"type":"paid","data":{"id":"p","amount":0.5}}`, payment.RefusedUnreadable},
		"another type":   {key(t), 0, `{"type":"payout.sent","data":[]}`, ""},
	} {
		n := remotepay.NewNotices("cards", key(t), func() time.Time { return now })
		read, err := n.Read(signed(tc.keys, now.Add(-tc.age), tc.body))
		if err == nil {
			_, err = read(t.Context(), []byte(tc.body), nil)
		}
		bad, is := errors.AsType[*payment.BadNoticeError](err)
		if is != (tc.want != "") || is && (bad.Refusal != tc.want || bad.Off != 0 && bad.Off != tc.age) ||
			!is && !errors.Is(err, payment.ErrIgnored) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
