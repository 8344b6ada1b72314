package sandbox

import (
	"bytes"
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
}

// callback is the body of a callback.
type callback struct {
	PaymentID string `json:"paymentId"`
	Amount    int64  `json:"amount"` // cents: the amount paid, sent back in all, or disputed
	Status    string `json:"status"`
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
// does not match the body.
func (n *Notices) Read(header http.Header) (read func(body []byte) (payment.Notice, error), err error) {
	sent, signature, err := parseSignature(header.Get(SignatureHeader))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", payment.ErrBadNotice, err)
	}
	if age := n.now().Sub(sent); age > maxAge || age < -maxAge {
		return nil, fmt.Errorf("%w: it was signed %s ago", payment.ErrBadNotice, age.Truncate(time.Second))
	}
	return func(body []byte) (payment.Notice, error) {
		if !n.key.verify(signed(sent, body), signature) {
			return payment.Notice{}, fmt.Errorf("%w: the signature does not match", payment.ErrBadNotice)
		}
		return parse(body)
	}, nil
}

// parse reads the body of a signed callback.
func parse(body []byte) (payment.Notice, error) {
	var c callback
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&c); err != nil {
		return payment.Notice{}, fmt.Errorf("%w: %w", payment.ErrBadNotice, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return payment.Notice{}, fmt.Errorf("%w: more data follows the object in the body", payment.ErrBadNotice)
	}
	kind := slices.Index(statuses[:], c.Status)
	if kind < 0 || c.PaymentID == "" {
		return payment.Notice{}, fmt.Errorf("%w: payment %q has status %q", payment.ErrBadNotice, c.PaymentID, c.Status)
	}
	return payment.Notice{Kind: payment.NoticeKind(kind), PaymentID: c.PaymentID, Amount: c.Amount, Provider: Name}, nil
}

// Write returns the callback for a notice, and its value of SignatureHeader.
func (n *Notices) Write(of payment.Notice) (body []byte, signature string, err error) {
	said := callback{PaymentID: of.PaymentID, Amount: of.Amount, Status: statuses[of.Kind]}
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
