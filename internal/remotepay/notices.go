package remotepay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"seckill/internal/kit/signature"
	"seckill/internal/order/payment"
)

// maxAge is how old a notice may be, and how far its sender's clock may be ahead.
const maxAge = 5 * time.Minute

// Notices reads the notices of one provider.
type Notices struct {
	name string
	keys [][]byte
	now  func() time.Time
}

// NewNotices returns the reader of the notices of the provider with the name, which one of the keys must have signed.
// now is the clock that their age is measured with.
func NewNotices(name string, keys [][]byte, now func() time.Time) *Notices {
	return &Notices{name, keys, now}
}

// Read is a shop.CallbackReader. The header shows whether the notice can be signed, and when; the body, whether it is.
func (n *Notices) Read(header http.Header) (payment.ReadNotice, error) {
	h, err := signature.Read(header)
	if err != nil {
		return nil, payment.BadNotice(payment.RefusedSignature, "%v", err)
	}
	if age := n.now().Sub(h.At); age > maxAge || age < -maxAge {
		return nil, payment.LateNotice(age)
	}
	return func(_ context.Context, body []byte, _ payment.FindPayment) (payment.Notice, error) {
		if !h.Signs(n.keys, body) {
			return payment.Notice{}, payment.BadNotice(payment.RefusedSignature, "the signature does not match")
		}
		return n.parse(body)
	}, nil
}

// parse reads the body of a signed notice. Members that it does not know are left to later versions.
func (n *Notices) parse(body []byte) (payment.Notice, error) {
	var m message[json.RawMessage]
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&m); err != nil {
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "%v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "more data follows the object")
	}
	kind, known := noticeKinds[m.Type]
	switch {
	case m.Type == "":
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "it has no type")
	case !known:
		return payment.Notice{}, fmt.Errorf("%w: %.40q", payment.ErrIgnored, m.Type)
	}
	var t told
	if err := json.Unmarshal(m.Data, &t); err != nil {
		return payment.Notice{}, payment.BadNotice(payment.RefusedUnreadable, "data: %v", err)
	}
	notice := payment.Notice{
		Kind: kind, PaymentID: t.ID, Amount: t.Amount, Provider: n.name, Reference: t.Reference, Reason: t.Reason,
	}
	if t.Until != nil {
		notice.Until = t.Until.UTC()
	}
	if kind == payment.NoticeRefund {
		notice.Refund = payment.RefundNotice{
			ID: t.RefundID, Reference: t.RefundReference, State: refundStates[t.State],
		}
	}
	return notice, nil
}
