package redemption

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/reason"
)

// ReservationTime is how long a till may take between reserving and redeeming, by the ledger's clock.
const ReservationTime = 2 * time.Minute

// Errors of tills' commands. All but ErrNotFound and ErrWrongCodes come in a [RefusalError].
var (
	// ErrNotFound: there is no such code, or it is another shop's.
	ErrNotFound = errors.New("no such coupon in this shop")
	// ErrRedeemed: the coupon was redeemed before, by another request.
	ErrRedeemed = errors.New("coupon was redeemed before")
	// ErrReserved: another till has reserved the coupon, or this till has and did not name its reservation.
	ErrReserved = errors.New("coupon is reserved")
	// ErrReservationOver: the named reservation is not, or no longer, the coupon's.
	ErrReservationOver = errors.New("reservation is over")
	// ErrLapsed: the coupon's date has passed.
	ErrLapsed = errors.New("coupon has lapsed")
	// ErrDisputed: the buyer disputes the payment, or has won their money back.
	ErrDisputed = errors.New("the payment is disputed")
	// ErrVoid: the coupon's order was given back for a refund, or its sale was called off.
	ErrVoid = errors.New("coupon is void: its order is refunded, or its sale was called off")
	// ErrUndone: this request redeemed the coupon, and staff have undone the redemption.
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
	RedeemedAt time.Time    // zero: not redeemed yet
	// Reservation is the latest reservation. It keeps other tills out until its Until. It is zero once it has ended.
	Reservation Reservation
	// Ended are the requests whose reservations are over, and the requests whose redemption staff have undone.
	Ended EndedRequests
	// RedeemedBy and RedeemKey are the till and the key of the request that redeemed the coupon.
	RedeemedBy int64
	RedeemKey  string
	// CalledOff: its sale was called off. It is only set for a till's command.
	CalledOff bool
	// Returned: the money of its order goes back or has gone back. It is only set for a till's command.
	Returned bool
	// Disputed: the payment of its order is disputed, or the dispute was lost. It is only set for a till's command.
	Disputed bool
}

// Reservation is a till's promise to redeem a coupon soon or to release it.
type Reservation struct {
	ID    string
	Till  int64
	Key   string    // the request's
	Until time.Time // exclusive
}

// Reserved reports whether a reservation prevents other tills, refunds and lapsing at the time.
func (c *Coupon) Reserved(now time.Time) bool {
	return c.Status == order.Paid && c.Reservation.ID != "" && now.Before(c.Reservation.Until)
}

// Past reports whether the coupon's date has passed. Unless the coupon is reserved, it can then no longer be redeemed
// or refunded.
func (c *Coupon) Past(now time.Time) bool {
	return !c.ValidUntil.IsZero() && !now.Before(c.ValidUntil)
}

// Verb is the action of a till's command. Metrics contain the word.
type Verb string

// The actions of tills.
const (
	Validate Verb = "validate" // report whether the coupon could be redeemed now
	Reserve  Verb = "reserve"  // no other till may redeem the coupon for ReservationTime
	Redeem   Verb = "redeem"   // once
	Release  Verb = "release"  // end the reservation
)

// Command is a till's request about one code.
type Command struct {
	Verb Verb
	Till Till
	Code Code
	// Key makes repeating harmless: a Reserve or Redeem of the same till with the same key takes effect once.
	Key string
	// Reservation is the id of a reservation: for Redeem, the reservation that it uses, "" for none; for Release, the
	// reservation to end; for Reserve, the id for a new reservation.
	Reservation string
}

// Outcome is the result of a command.
type Outcome struct {
	Coupon   Coupon // the coupon after the command
	At       time.Time
	Repeated bool  // nothing was changed: the same request was served before
	Err      error // one of this package's; nothing was changed
}

// Why describes the change, for the order's history.
func (o *Outcome) Why(v Verb) reason.Why {
	switch v {
	case Reserve:
		return reason.ReservedUntil(o.Coupon.Reservation.Until)
	case Release:
		return reason.Released
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
// changed; if not, the outcome has an error, or the command changes nothing.
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
	case c.Status != order.Paid, c.CalledOff, c.Returned:
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

// free returns nil if the till may reserve or redeem the coupon. Errors: ErrReserved, ErrLapsed.
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
// refuses a request with the old id, and the repetition of a request whose reservation is over, since nobody would use
// a new reservation.
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

// release ends the reservation that the command names, if it is the coupon's, and reports whether it was. Any other
// reservation has already ended.
func (c *Coupon) release(cmd Command) bool {
	if !c.holds(cmd) {
		return false
	}
	c.end()
	return true
}

// end ends the reservation, if there is one, and adds its request to Ended.
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

// maxEnded is how many requests EndedRequests remembers. A till reserves a coupon once or twice, and repeats a request
// for seconds.
const maxEnded = 16

// EndedRequests are the requests of one coupon whose reservation is over, and the requests whose redemption was undone
// (redeemRequest). It has the last maxEnded requests, oldest first, as they are stored: 16 hexadecimal digits each,
// separated by spaces.
type EndedRequests string

// Has reports whether the till's request with the key is among them.
func (e EndedRequests) Has(till int64, key string) bool {
	return slices.Contains(strings.Fields(string(e)), digest(till, key))
}

// with returns the requests with another one added.
func (e EndedRequests) with(till int64, key string) EndedRequests {
	all := append(strings.Fields(string(e)), digest(till, key))
	return EndedRequests(strings.Join(all[max(0, len(all)-maxEnded):], " "))
}

// redeemRequest returns the entry for a request that redeems. It differs from the key, which may also have been used to
// reserve. No key has a space.
func redeemRequest(key string) string { return "redeem " + key }

// digest returns a hash of a request. Two requests for a coupon have the same hash with a probability of 1 in 10^18.
func digest(till int64, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", till, key))
	return hex.EncodeToString(sum[:8])
}
