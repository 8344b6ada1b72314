package waitlist

import (
	"context"
	"strconv"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher"
)

// placeJSON is the JSON form of a place for its user, without its position, which would reveal how many have joined.
type placeJSON struct {
	VoucherID    int64         `json:"voucherId"`
	State        string        `json:"state"`
	Standing     bool          `json:"standing"`            // while the place is open
	Missed       int64         `json:"missed"`              // invitations
	Ahead        *int64        `json:"ahead,omitempty"`     // while the place waits
	AheadMore    bool          `json:"aheadMore,omitempty"` // there may be more than Ahead
	JoinTime     *httpkit.Time `json:"joinTime"`
	InviteTime   *httpkit.Time `json:"inviteTime,omitempty"`
	AcceptBefore *httpkit.Time `json:"acceptBefore,omitempty"` // while the place is invited
	Paused       bool          `json:"paused,omitempty"`       // the sale is paused: acceptBefore will move
	OrderID      string        `json:"orderId,omitempty"`
	EndTime      *httpkit.Time `json:"endTime,omitempty"`
	AskAgain     int64         `json:"askAgainSeconds,omitempty"` // while it is open
}

func view(p Place) placeJSON {
	v := placeJSON{
		VoucherID: p.VoucherID, State: p.State.String(), Standing: p.Standing && p.State.Open(), Missed: p.Missed,
		JoinTime: httpkit.TimeView(p.JoinedAt), InviteTime: httpkit.TimeView(p.InvitedAt),
		EndTime: httpkit.TimeView(p.EndedAt), AskAgain: askAgain(p),
	}
	switch p.State {
	case Waiting:
		v.Ahead, v.AheadMore = &p.Ahead, p.Ahead >= MaxCounted
	case Invited:
		v.AcceptBefore, v.Paused = httpkit.TimeView(p.Deadline), p.Paused
	case Accepted, Bought:
		v.OrderID = strconv.FormatInt(p.OrderID, 10)
	default:
	}
	return v
}

// askAgain returns the seconds after which a client should ask for the place again: few at the head of the list, a
// minute far behind it, so that 100,000 waiting users together make 1,700 requests a second.
func askAgain(p Place) int64 {
	const soon, perSecond, late = 2, 10, 60
	switch {
	case !p.State.Open():
		return 0
	case p.State != Waiting:
		return soon
	default:
		return min(soon+p.Ahead/perSecond, late)
	}
}

// countsJSON is the JSON form of Counts.
type countsJSON struct {
	VoucherID int64 `json:"voucherId"`
	Kept      int64 `json:"kept"`
	Waiting   int64 `json:"waiting"`
	Invited   int64 `json:"invited"`
	Accepted  int64 `json:"accepted"`
	Bought    int64 `json:"bought"`
	Left      int64 `json:"left"`
	Declined  int64 `json:"declined"`
	Missed    int64 `json:"missed"`
	Refused   int64 `json:"refused"`
	Over      int64 `json:"over"`
	CalledOff int64 `json:"calledOff"`
}

func countsView(voucherID int64, n Counts) countsJSON {
	of := n.States
	return countsJSON{
		VoucherID: voucherID, Kept: n.Kept, Waiting: of[Waiting], Invited: of[Invited], Accepted: of[Accepted],
		Bought: of[Bought], Left: of[Left], Declined: of[Declined], Missed: of[Missed], Refused: of[Refused],
		Over: of[Over], CalledOff: of[CalledOff],
	}
}

// Figures returns the counts of a sale's waiting list for the report, to be written as JSON; nil for a voucher without
// a list. Error: order.ErrUnavailable.
func (l *Ledger) Figures(ctx context.Context, v voucher.Voucher) (shown any, err error) {
	if v.Sale == nil || !v.Sale.HasWaitlist() {
		return nil, nil
	}
	c, err := l.Counts(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	return map[string]int64{
		"joined": c.Joined, "waiting": c.States[Waiting], "invited": c.Invited,
		"open": c.States[Invited] + c.States[Accepted], "accepted": c.Accepted, "bought": c.States[Bought],
		"declined": c.States[Declined], "missed": c.Missed,
	}, nil
}
