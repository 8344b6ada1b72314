package sandbox

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/order/payment"
)

// SignatureHeader carries the signature of a callback.
const SignatureHeader = "Payment-Signature"

// maxAge is how old a callback may be, and how far the sender's clock may be ahead.
const maxAge = 5 * time.Minute

// statuses are the words for the status in a callback.
var statuses = [...]string{
	payment.NoticePaid: "succeeded", payment.NoticeReturned: "refunded", payment.NoticeDisputed: "disputed",
	payment.NoticeDisputeWon: "dispute_won", payment.NoticeDisputeLost: "dispute_lost",
	payment.NoticeProcessing: "processing", payment.NoticeFailed: "failed", payment.NoticeCancelled: "cancelled",
	payment.NoticeRefund: "refund",
}

// refundStates are the words for the state of a refund.
var refundStates = map[string]payment.RefundState{
	payment.RefundPending.String(): payment.RefundPending, payment.RefundDone.String(): payment.RefundDone,
	payment.RefundFailed.String(): payment.RefundFailed,
}

// callback is the body of a callback.
type callback struct {
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"` // in the currency's least unit: the amount paid, sent back in all, or disputed
	Status    string `json:"status"`
	// Until is when the sandbox expects money that is under way, and Reason why an attempt has failed.
	Until  *time.Time `json:"until,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Refund *refund    `json:"refund,omitempty"`
}

// refund is what a callback says of one refund.
type refund struct {
	ID       string `json:"id,omitempty"`       // the sandbox's own
	RefundID string `json:"refundId,omitempty"` // the service's, if it has asked for the refund
	State    string `json:"state"`
}

// Notices signs callbacks and reads signed ones.
type Notices struct {
	key key
	now func() time.Time
}

// NewNotices returns the reader and signer of callbacks with the secret, or ErrWeakSecret. now is the clock that their
// age is measured with.
func NewNotices(secret []byte, now func() time.Time) (*Notices, error) {
	k, err := newKey(secret, "callback")
	if err != nil {
		return nil, err
	}
	return &Notices{key: k, now: now}, nil
}

// Read checks the header of a callback and returns a function that reads its body. Both return payment.ErrBadNotice,
// wrapped, for anything but a valid callback: Read if the signature is missing or old, the function if the signature
// does not match the body. One with another status is payment.ErrIgnored.
func (n *Notices) Read(header http.Header) (read payment.ReadNotice, err error) {
	sent, signature, err := parseSignature(header.Get(SignatureHeader))
	if err != nil {
		return nil, payment.BadNotice(payment.RefusedSignature, "%v", err)
	}
	if age := n.now().Sub(sent); age > maxAge || age < -maxAge {
		return nil, payment.LateNotice(age)
	}
	return func(_ context.Context, body []byte, _ payment.FindPayment) (payment.Notice, error) {
		if !n.key.verify(signed(sent, body), signature) {
			return payment.Notice{}, payment.BadNotice(payment.RefusedSignature, "the signature does not match")
		}
		return parse(body)
	}, nil
}

// parse reads the body of a signed callback.
func parse(body []byte) (payment.Notice, error) {
	var c callback
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&c); err != nil {
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "more data follows the object")
	}
	kind := slices.Index(statuses[:], c.Status)
	switch {
	case c.Status != "" && kind < 0:
		return payment.Notice{}, fmt.Errorf("%w: %.40q", payment.ErrIgnored, c.Status)
	case kind < 0, c.PaymentID == "":
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "payment %.80q has status %.40q",
			c.PaymentID, c.Status)
	}
	n := payment.Notice{
		Kind: payment.NoticeKind(kind), PaymentID: c.PaymentID, Amount: c.Amount, Provider: Name, Reason: c.Reason,
	}
	if c.Until != nil {
		n.Until = c.Until.UTC()
	}
	if c.Refund != nil {
		n.Refund = payment.RefundNotice{
			ID: c.Refund.RefundID, Reference: c.Refund.ID, State: refundStates[c.Refund.State],
		}
	}
	return n, nil
}

// Write returns the callback for a notice, and its value of SignatureHeader.
func (n *Notices) Write(of payment.Notice) (body []byte, signature string, err error) {
	said := callback{PaymentID: of.PaymentID, Amount: of.Amount, Status: statuses[of.Kind], Reason: of.Reason}
	if !of.Until.IsZero() {
		said.Until = &of.Until
	}
	if r := of.Refund; r.State != 0 {
		said.Refund = &refund{ID: r.Reference, RefundID: r.ID, State: r.State.String()}
	}
	if body, err = json.Marshal(said); err != nil {
		return nil, "", fmt.Errorf("sandbox: %w", err)
	}
	now := n.now()
	mac := n.key.sign(signed(now, body))
	return body, fmt.Sprintf("t=%d,v1=%s", now.Unix(), hex.EncodeToString(mac)), nil
}

// signed returns the text that a callback's signature covers. It contains the time, so that an old callback cannot be
// given a new time.
func signed(sent time.Time, body []byte) []byte {
	text := strconv.AppendInt(nil, sent.Unix(), 10)
	return append(append(text, '.'), body...)
}

var errSignature = errors.New(SignatureHeader + ` is not "t=<seconds since 1970>,v1=<hex>"`)

func parseSignature(header string) (sent time.Time, signature []byte, err error) {
	at, mac, _ := strings.Cut(header, ",")
	at, hasTime := strings.CutPrefix(at, "t=")
	mac, hasMAC := strings.CutPrefix(mac, "v1=")
	seconds, errTime := strconv.ParseInt(at, 10, 64)
	signature, errMAC := hex.DecodeString(mac)
	if !hasTime || !hasMAC || errTime != nil || errMAC != nil {
		return time.Time{}, nil, errSignature
	}
	return time.Unix(seconds, 0), signature, nil
}
