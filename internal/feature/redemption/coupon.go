package redemption

import (
	"errors"
	"fmt"
	"time"

	"seckill/internal/order"
)

// ReservationTime is how long a till may take between reserving and redeeming, by the ledger's clock.
const ReservationTime = 2 * time.Minute

// Why a till cannot do what it wants with a coupon. All but ErrNotFound and ErrWrongCodes come in a [RefusalError].
var (
	// ErrNotFound: there is no such code, or it is another shop's.
	ErrNotFound = errors.New("no such coupon in this shop")
	// ErrRedeemed: it was redeemed before, by another request.
	ErrRedeemed = errors.New("coupon was redeemed before")
	// ErrReserved: another till has reserved it, or this one has and did not name its reservation.
	ErrReserved = errors.New("coupon is reserved")
	// ErrReservationOver: the named reservation is not, or no longer, the coupon's.
	ErrReservationOver = errors.New("reservation is over")
	// ErrLapsed: its date has passed.
	ErrLapsed = errors.New("coupon has lapsed")
	// ErrDisputed: the buyer disputes the payment, or has won their money back.
	ErrDisputed = errors.New("the payment is disputed")
	// ErrVoid: its order was given back for a refund, or its sale was called off.
	ErrVoid = errors.New("coupon is void: its order is refunded, or its sale was called off")
	// ErrUndone: this request redeemed it, and staff have undone that.
	ErrUndone = errors.New("the redemption was undone")
	// ErrWrongCodes: the till has sent too many wrong codes.
	ErrWrongCodes = errors.New("too many wrong codes")
)

// Till is a till that redeems coupons: the user id in a token with the role till, and its shop.
type Till struct{ ID, ShopID int64 }

// Actor returns the till's name in an order's history.
func (t Till) Actor() order.Actor { return order.Actor(fmt.Sprintf("till %d", t.ID)) }

// Coupon is a paid order as tills see it: its code and its state.
type Coupon struct {
	OrderID    int64
	VoucherID  int64
	ShopID     int64
	Code       Code
	Quantity   order.Quantity
	Status     order.Status // the order's
	ValidUntil time.Time    // exclusive; zero: for ever
	RedeemedAt time.Time    // zero until then
	// Reservation is the latest reservation. It keeps others out until its time. It is zero once it has ended.
	Reservation Reservation
	// Ended are the requests whose reservations are over, and those whose redemption staff have undone.
	Ended EndedRequests
	// RedeemedBy and RedeemKey are the till and the key of the request that redeemed it.
	RedeemedBy int64
	RedeemKey  string
	// CalledOff: its sale was called off. It is only set for a till's command.
	CalledOff bool
	// Disputed: the payment of its order is disputed, or the dispute was lost. It is only set for a till's command.
	Disputed bool
}

// Reservation is a till's promise to redeem a coupon at once or to let it go.
type Reservation struct {
	ID    string
	Till  int64
	Key   string    // of the request
	Until time.Time // exclusive
}

// Reserved reports whether a reservation prevents other tills, refunds and lapsing at the time.
func (c *Coupon) Reserved(now time.Time) bool {
	return c.Status == order.Paid && c.Reservation.ID != "" && now.Before(c.Reservation.Until)
}

// Past reports whether the coupon's date has passed. Unless it is reserved, it can then no longer be redeemed or
// refunded.
func (c *Coupon) Past(now time.Time) bool {
	return !c.ValidUntil.IsZero() && !now.Before(c.ValidUntil)
}

// Verb is what a till wants to do.
type Verb int8

// The actions of tills.
const (
	Validate Verb = iota // check whether it could be redeemed now
	Reserve              // nobody else may redeem it for ReservationTime
	Redeem               // once
	Release              // end the reservation
)

// String returns the verb.
func (v Verb) String() string {
	switch v {
	case Validate:
		return "validate"
	case Reserve:
		return "reserve"
	case Redeem:
		return "redeem"
	case Release:
		return "release"
	default:
		return "unknown"
	}
}

// Command is what a till wants to do with one code.
type Command struct {
	Verb Verb
	Till Till
	Code Code
	// Key makes repeating harmless: a Reserve or Redeem of the same till with the same key takes effect once.
	Key string
	// Reservation is the id of a reservation: for Redeem, the one that it uses, "" for none; for Release, the one to
	// end; for Reserve, the id that a new one gets.
	Reservation string
}

// Outcome is the result of a command.
type Outcome struct {
	Coupon   Coupon // as it is then
	At       time.Time
	Repeated bool  // nothing was changed: the same request was served before
	Err      error // one of this package's; nothing was changed
}

// Why describes what was done, for the order's history.
func (o *Outcome) Why(v Verb) order.Why {
	switch v {
	case Reserve:
		return order.ReservedUntil(o.Coupon.Reservation.Until)
	case Release:
		return order.Released
	default:
		return ""
	}
}

// RefusalError is a refusal, with the coupon that was refused.
type RefusalError struct {
	Reason error // one of this package's
	Coupon Coupon
	Till   Till
}

func (e *RefusalError) Error() string {
	return fmt.Sprintf("%s: order %d, till %d", e.Reason.Error(), e.Coupon.OrderID, e.Till.ID)
}

// Unwrap returns the reason.
func (e *RefusalError) Unwrap() error { return e.Reason }

// Do executes a till's command on the coupon at the time; it has all rules for tills. It reports whether the coupon has
// changed; if not, the outcome says why.
func (c *Coupon) Do(cmd Command, now time.Time) (outcome Outcome, changed bool) {
	if c.ShopID != cmd.Till.ShopID {
		return Outcome{Err: ErrNotFound, At: now}, false
	}
	before := *c
	repeated, reason := c.do(cmd, now)
	outcome = Outcome{Coupon: *c, At: now, Repeated: repeated}
	if reason != nil {
		*c = before
		outcome.Err = &RefusalError{Reason: reason, Coupon: before, Till: cmd.Till}
	}
	return outcome, *c != before
}

func (c *Coupon) do(cmd Command, now time.Time) (repeated bool, reason error) {
	switch {
	case cmd.Verb == Redeem && c.redeemedBy(cmd):
		return true, nil
	case c.Status == order.Redeemed:
		return false, ErrRedeemed
	case cmd.Verb == Release:
		return !c.release(cmd), nil
	case c.Status == order.Lapsed:
		return false, ErrLapsed
	case c.Status != order.Paid, c.CalledOff:
		return false, ErrVoid
	case c.Disputed:
		return false, ErrDisputed
	}
	switch cmd.Verb {
	case Redeem:
		return false, c.redeem(cmd, now)
	case Reserve:
		return c.reserve(cmd, now)
	default:
		return false, c.free(cmd.Till, now)
	}
}

// redeemedBy reports whether the same request has redeemed the coupon.
func (c *Coupon) redeemedBy(cmd Command) bool {
	return c.Status == order.Redeemed && c.RedeemedBy == cmd.Till.ID && c.RedeemKey == cmd.Key
}

// free returns why the till cannot reserve or redeem the coupon, or nil.
func (c *Coupon) free(t Till, now time.Time) error {
	switch {
	case c.Reserved(now) && c.Reservation.Till != t.ID:
		return ErrReserved
	case !c.Reserved(now) && c.Past(now):
		return ErrLapsed
	}
	return nil
}

// reserve replaces the till's own reservation by a new one, so that a till that has lost the old id can go on. It
// refuses a request with the old id, and the repetition of a request whose reservation is over, since nobody would own
// a new one.
func (c *Coupon) reserve(cmd Command, now time.Time) (repeated bool, reason error) {
	if err := c.free(cmd.Till, now); err != nil {
		return false, err
	}
	if held := c.Reservation; held.ID != "" && held.Till == cmd.Till.ID && held.Key == cmd.Key {
		if c.Reserved(now) {
			return true, nil
		}
		return false, ErrReservationOver
	}
	if c.Ended.Has(cmd.Till.ID, cmd.Key) {
		return false, ErrReservationOver
	}
	c.end()
	c.Reservation = Reservation{ID: cmd.Reservation, Till: cmd.Till.ID, Key: cmd.Key, Until: now.Add(ReservationTime)}
	return false, nil
}

func (c *Coupon) redeem(cmd Command, now time.Time) error {
	switch held := c.Reserved(now); {
	case c.Ended.Has(cmd.Till.ID, redeemRequest(cmd.Key)):
		return ErrUndone
	case cmd.Reservation == "" && held:
		return ErrReserved
	case cmd.Reservation == "" && c.Past(now):
		return ErrLapsed
	case cmd.Reservation != "" && (!held || !c.holds(cmd)):
		return ErrReservationOver
	}
	c.Status, c.RedeemedAt = order.Redeemed, now
	c.RedeemedBy, c.RedeemKey = cmd.Till.ID, cmd.Key
	c.end()
	return nil
}

// release ends the reservation and reports whether it was the coupon's. Any other reservation has already ended.
func (c *Coupon) release(cmd Command) bool {
	if !c.holds(cmd) {
		return false
	}
	c.end()
	return true
}

// end ends the reservation, if there is one, and notes its request.
func (c *Coupon) end() {
	if c.Reservation.ID != "" {
		c.Ended = c.Ended.with(c.Reservation.Till, c.Reservation.Key)
	}
	c.Reservation = Reservation{}
}

// holds reports whether the command names the coupon's reservation and comes from the till that made it.
func (c *Coupon) holds(cmd Command) bool {
	return cmd.Reservation != "" && c.Reservation.ID == cmd.Reservation && c.Reservation.Till == cmd.Till.ID
}
