package payment

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"seckill/internal/order/reason"
)

// Dispute is the state of a buyer's dispute of a payment. Its numbers are the ones stored. It only goes up, since
// notices may come in any order.
type Dispute int8

// The states of a dispute.
const (
	DisputeNone Dispute = 0
	DisputeOpen Dispute = 1
	DisputeWon  Dispute = 2 // by the shop
	DisputeLost Dispute = 3 // by the shop; final
)

var disputeNames = [...]string{"none", "open", "won", "lost"}

// Disputes returns all states of disputes.
func Disputes() []Dispute { return []Dispute{DisputeNone, DisputeOpen, DisputeWon, DisputeLost} }

// String returns the state's name as shown to people and clients.
func (d Dispute) String() string { return word(disputeNames[:], d, DisputeNone) }

// BarringDisputes returns the states of a payment's dispute in which tills must refuse its order.
func BarringDisputes() []Dispute { return []Dispute{DisputeOpen, DisputeLost} }

// Flow is what has happened to a payment's money since it was received, according to the provider.
type Flow struct {
	Returned   int64 // cents that have gone back as refunds, in all
	Dispute    Dispute
	Disputed   int64     // cents that the dispute is about; they have gone back, too, once it is lost
	DisputedAt time.Time // when the dispute reached its state; zero: there is none
}

// After returns the flow of a payment of amount cents after a notice. Notices may come repeatedly and in any order, and
// the flow ends up the same: the highest sum counts, and the furthest state of a dispute. Error: ErrWrongAmount.
func (f Flow) After(n Notice, amount int64) (Flow, error) {
	if n.Amount < 1 || n.Amount > amount {
		return f, fmt.Errorf("%w: %d cents of %d", ErrWrongAmount, n.Amount, amount)
	}
	if n.Kind == NoticeReturned {
		f.Returned = max(f.Returned, n.Amount)
		return f, nil
	}
	switch d := disputeNotices[n.Kind].dispute; {
	case d > f.Dispute:
		f.Dispute, f.Disputed = d, n.Amount
	case d == f.Dispute:
		f.Disputed = max(f.Disputed, n.Amount)
	}
	return f, nil
}

// disputeNotices maps a notice of a dispute to the state, the reason and the news that it brings. Other notices say
// that money has gone back.
var disputeNotices = map[NoticeKind]struct {
	dispute Dispute
	why     reason.Why
	news    News
}{
	NoticeDisputed:    {DisputeOpen, reason.DisputeOpened, NewsDisputed},
	NoticeDisputeWon:  {DisputeWon, reason.DisputeDecided, NewsDisputeWon},
	NoticeDisputeLost: {DisputeLost, reason.DisputeGone, NewsDisputeLost},
}

// Lost returns the cents that a lost dispute has cost.
func (f Flow) Lost() int64 {
	if f.Dispute == DisputeLost {
		return f.Disputed
	}
	return 0
}

// Gone returns the cents that have gone back, as refunds and by a lost dispute. It exceeds the payment's amount if the
// provider sent the money of a refunded payment back a second time.
func (f Flow) Gone() int64 {
	return f.Returned + f.Lost()
}

// Rest returns the cents that a refund has to send back.
func (p Payment) Rest() int64 { return max(0, p.Amount-p.Gone()) }

// AllGone reports whether all of the money has gone back, so that nothing is left to send.
func (p Payment) AllGone() bool { return p.Amount > 0 && p.Rest() == 0 }

// Due reports whether the provider is to be asked to send the money back.
func (p Payment) Due() bool { return p.State == Refunding && p.Dispute != DisputeOpen }

// Received returns the cents that the provider has taken for the shop.
func (p Payment) Received() int64 { return p.ifReceived(p.Amount) }

// ifReceived returns the cents if the payment's money was received, and otherwise 0.
func (p Payment) ifReceived(cents int64) int64 {
	if p.ReceivedAt.IsZero() {
		return 0
	}
	return cents
}

// Kept returns the cents that were received and have not gone back.
func (p Payment) Kept() int64 { return p.ifReceived(p.Amount - p.Gone()) }

// RefundedAmount returns the cents of received money that have gone back as refunds, and LostAmount those that a
// dispute has cost:
//
//	Received = RefundedAmount + LostAmount + Kept
func (p Payment) RefundedAmount() int64 { return p.ifReceived(p.Returned) }

// LostAmount returns the cents of received money that a dispute has cost.
func (p Payment) LostAmount() int64 { return p.ifReceived(p.Lost()) }

// Overdrawn returns the cents that have gone back beyond what was received: a dispute was lost of money that had been
// refunded.
func (p Payment) Overdrawn() int64 { return max(0, -p.Kept()) }

// Why returns the reason that an order's history gives for a notice about the payment's flow. all says that no money is
// left.
func (n Notice) Why(all bool) reason.Why {
	switch told, is := disputeNotices[n.Kind]; {
	case is:
		return told.why
	case all:
		return reason.MoneyReturned
	default:
		return reason.PartReturned
	}
}

// News is what has happened to a payment. The word is shown.
type News string

// The news. The first four, and those from NewsProcessing to NewsCancelled, are a provider's notices.
const (
	NewsReturned    News = "returned"     // money has gone back
	NewsDisputed    News = "disputed"     // the buyer disputes it
	NewsDisputeWon  News = "dispute_won"  // by the shop
	NewsDisputeLost News = "dispute_lost" // by the shop
	NewsStuck       News = "stuck"        // the provider has finally refused to send the money back
	NewsRetried     News = "retried"      // staff let the provider be asked again
	NewsClosed      News = "closed"       // staff have closed the refund
	NewsProcessing  News = "processing"   // the money is under way
	NewsFailed      News = "failed"       // the attempt to pay has failed
	NewsCancelled   News = "cancelled"    // the attempt has ended without money
	NewsRefund      News = "refund"       // a refund of it is asked for, on its way, or has failed
	NewsReceived    News = "received"     // its money came in, and did not pay for the order
)

// News returns the news in a notice about returned money or a dispute.
func (n Notice) News() News { return cmp.Or(disputeNotices[n.Kind].news, NewsReturned) }

// Filter chooses payments. A zero field does not restrict.
type Filter struct {
	Name      string // a payment's id, or the provider's reference of it
	OrderID   int64
	VoucherID int64
	ShopID    int64
	State     State
	Dispute   *Dispute
	Refund    RefundState // one of its refunds is in this state; of failed ones, one that nobody has seen to
	Overdrawn bool        // more has gone back than came in
	From, To  time.Time   // of the payment's CreatedAt; To is exclusive
}

// RefusedError says that a provider will never send this payment's money back, however often it is asked. Any other
// error of a provider is temporary.
type RefusedError struct{ Reason string } // in the provider's words, for staff; may be empty

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the provider refuses for good to send the money back: %q", CheckedRefusal(e.Reason))
}

// MaxRefusal is how many characters of a provider's reason are kept: as wide as the column.
const MaxRefusal = 255

// CheckedRefusal returns a provider's reason as it can be stored and shown on one line.
func CheckedRefusal(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) { // such as a line separator, or a mark that changes the direction of text
			return ' '
		}
		return r
	}, strings.ToValidUTF8(reason, "\uFFFD"))
	runes := []rune(strings.TrimSpace(reason))
	return string(runes[:min(len(runes), MaxRefusal)])
}

// StateError says that staff cannot retry or close the refund of a payment in this state: only of a stuck one.
type StateError struct {
	PaymentID string
	State     State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("payment %s is %s, not stuck", e.PaymentID, e.State)
}

// NotReceivedError says that a part of a payment cannot be sent back in this state: only of a received one.
type NotReceivedError struct {
	PaymentID string
	State     State
}

func (e *NotReceivedError) Error() string {
	return fmt.Sprintf("payment %s is %s, not received", e.PaymentID, e.State)
}

// NeedStaff is how many payments need staff: their refund is stuck, their dispute is open, or more of their money has
// gone back than came in; and how many refunds of parts have failed.
type NeedStaff struct{ Stuck, Disputed, Overdrawn, FailedParts int64 }
