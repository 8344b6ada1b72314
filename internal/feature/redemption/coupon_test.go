package redemption

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

var (
	noon  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	tillA = Till{ID: 1, ShopID: 9}
	tillB = Till{ID: 2, ShopID: 9}
	tillC = Till{ID: 3, ShopID: 8} // of another shop
)

func paid() Coupon {
	return Coupon{
		OrderID: 5, VoucherID: 6, ShopID: 9, Code: "0123456789ABCDEF", Status: order.Paid,
		ValidUntil: noon.Add(time.Hour),
	}
}

// step is one command, how long after noon it comes, and what is to come of it.
type step struct {
	after time.Duration
	cmd   Command
	want  error
	again bool
}

func TestCouponAtTills(t *testing.T) {
	t.Parallel()
	reserve := func(till Till, key, id string) Command {
		return Command{Verb: Reserve, Till: till, Key: key, Reservation: id}
	}
	redeem := func(till Till, key, id string) Command {
		return Command{Verb: Redeem, Till: till, Key: key, Reservation: id}
	}
	release := func(till Till, id string) Command { return Command{Verb: Release, Till: till, Reservation: id} }
	validate := func(till Till) Command { return Command{Till: till} }
	for name, tc := range map[string]struct {
		status order.Status
		steps  []step
	}{
		"redeemed at once": {steps: []step{{cmd: validate(tillA)}, {cmd: redeem(tillA, "k", "")}}},
		"redeemed, and asked again": {steps: []step{
			{cmd: redeem(tillA, "k", "")},
			{cmd: redeem(tillA, "k", ""), again: true, after: 9 * time.Hour},
			{cmd: redeem(tillA, "l", ""), want: ErrRedeemed},
			{cmd: redeem(tillB, "k", ""), want: ErrRedeemed},
			{cmd: validate(tillA), want: ErrRedeemed},
			{cmd: reserve(tillA, "k", "r"), want: ErrRedeemed},
			{cmd: release(tillA, "r"), want: ErrRedeemed},
		}},
		"reserved, then redeemed": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: redeem(tillA, "l", "r")},
			{cmd: redeem(tillA, "l", "r"), again: true},
		}},
		"reserved by another": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: validate(tillB), want: ErrReserved},
			{cmd: validate(tillA)},
			{cmd: reserve(tillB, "k", "s"), want: ErrReserved},
			{cmd: redeem(tillB, "k", ""), want: ErrReserved},
			{cmd: redeem(tillB, "k", "r"), want: ErrReservationOver},
			{cmd: redeem(tillA, "k", ""), want: ErrReserved},
		}},
		"a repeated reservation is the same": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: reserve(tillA, "k", "s"), again: true, after: time.Minute},
			{cmd: redeem(tillA, "l", "s"), want: ErrReservationOver},
			{cmd: redeem(tillA, "l", "r")},
		}},
		"a late redeem of an old reservation": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: redeem(tillA, "l", "r"), after: ReservationTime, want: ErrReservationOver},
			{cmd: redeem(tillB, "l", ""), after: ReservationTime},
		}},
		"a late redeem after the next reservation": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: reserve(tillB, "k", "s"), after: ReservationTime},
			{cmd: redeem(tillA, "l", "r"), after: ReservationTime, want: ErrReservationOver},
			{cmd: redeem(tillB, "l", "s"), after: ReservationTime},
		}},
		"the same till reserves anew": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: reserve(tillA, "l", "s")},
			{cmd: redeem(tillA, "m", "r"), want: ErrReservationOver},
			{cmd: redeem(tillA, "m", "s")},
		}},
		"released": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: release(tillB, "r"), again: true},
			{cmd: release(tillA, "q"), again: true},
			{cmd: release(tillA, "r")},
			{cmd: release(tillA, "r"), again: true},
			{cmd: redeem(tillA, "l", "r"), want: ErrReservationOver},
			{cmd: redeem(tillB, "l", "")},
		}},
		"a repeated reservation that was released is none": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: release(tillA, "r")},
			{cmd: reserve(tillA, "k", "s"), want: ErrReservationOver},
			{cmd: redeem(tillB, "l", "")},
		}},
		"a late repetition does not replace the next reservation": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: reserve(tillA, "l", "s")},
			{cmd: reserve(tillA, "k", "t"), want: ErrReservationOver},
			{cmd: reserve(tillA, "l", "u"), again: true},
			{cmd: redeem(tillA, "m", "s")},
		}},
		"nor one that the time has ended, nor another till's": {steps: []step{
			{cmd: reserve(tillA, "k", "r")},
			{cmd: reserve(tillA, "k", "s"), after: ReservationTime, want: ErrReservationOver},
			{cmd: reserve(tillB, "k", "t"), after: ReservationTime},
			{cmd: reserve(tillA, "k", "u"), after: 2 * ReservationTime, want: ErrReservationOver},
			{cmd: reserve(tillA, "l", "v"), after: 2 * ReservationTime},
		}},
		"past its date": {steps: []step{
			{cmd: validate(tillA), after: time.Hour - 1},
			{cmd: validate(tillA), after: time.Hour, want: ErrLapsed},
			{cmd: reserve(tillA, "k", "r"), after: time.Hour, want: ErrLapsed},
			{cmd: redeem(tillA, "k", ""), after: time.Hour, want: ErrLapsed},
		}},
		"reserved before its date, redeemed after it": {steps: []step{
			{cmd: reserve(tillA, "k", "r"), after: time.Hour - time.Second},
			{cmd: validate(tillA), after: time.Hour},
			{cmd: redeem(tillA, "l", "r"), after: time.Hour + time.Minute},
		}},
		"another shop's": {steps: []step{
			{cmd: validate(tillC), want: ErrNotFound},
			{cmd: reserve(tillC, "k", "r"), want: ErrNotFound},
			{cmd: redeem(tillC, "k", ""), want: ErrNotFound},
			{cmd: redeem(tillA, "k", "")},
			{cmd: redeem(tillC, "k", ""), want: ErrNotFound},
		}},
		"lapsed": {status: order.Lapsed, steps: []step{
			{cmd: redeem(tillA, "k", ""), want: ErrLapsed}, {cmd: validate(tillA), want: ErrLapsed},
		}},
		"refunding": {status: order.Refunding, steps: []step{
			{cmd: redeem(tillA, "k", ""), want: ErrVoid}, {cmd: reserve(tillA, "k", "r"), want: ErrVoid},
		}},
		"refunded": {status: order.Refunded, steps: []step{{cmd: redeem(tillA, "k", ""), want: ErrVoid}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := paid()
			if tc.status != 0 {
				c.Status = tc.status
			}
			for i, s := range tc.steps {
				before := c
				outcome, changed := c.Do(s.cmd, noon.Add(s.after))
				if !errors.Is(outcome.Err, s.want) || s.want == nil && outcome.Err != nil ||
					outcome.Repeated != s.again {
					t.Fatalf("step %d: %+v; want %v, repeated %t", i, outcome, s.want, s.again)
				}
				if changed != (c != before) || changed && (s.want != nil || s.again || s.cmd.Verb == Validate) {
					t.Fatalf("step %d: changed %t: %+v", i, changed, c)
				}
			}
		})
	}
}

// Whatever tills, the buyer and the lapser do at whatever times, a coupon is used up once, and only by who may.
func TestCouponIsUsedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, now := paid(), noon
		redeemed, refunded, lapsed := 0, 0, 0
		var winner Command
		ids := 0
		known := []string{""}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second)
			reserved, past, before := c.Reserved(now), c.Past(now), c
			switch what := rapid.IntRange(0, 5).Draw(t, "what"); what {
			case 4: // as Ledger does: checkRefund
				if c.Status == order.Paid && !reserved && !past {
					c.Status = order.Refunding
					refunded++
				}
				continue
			case 5: // as Ledger does: lapse
				if c.Status == order.Paid && !reserved && past {
					c.Status = order.Lapsed
					lapsed++
				}
				continue
			default:
				cmd := Command{
					Verb:        []Verb{Validate, Reserve, Redeem, Release}[what],
					Till:        rapid.SampledFrom([]Till{tillA, tillB, tillC}).Draw(t, "till"),
					Key:         rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"),
					Reservation: rapid.SampledFrom(known).Draw(t, "reservation"),
				}
				if cmd.Verb == Reserve {
					ids++
					cmd.Reservation = fmt.Sprint("r", ids)
					known = append(known, cmd.Reservation)
				}
				outcome, changed := c.Do(cmd, now)
				if outcome.Err != nil && changed || cmd.Till == tillC && outcome.Err == nil {
					t.Fatalf("%+v: %+v", cmd, outcome)
				}
				if cmd.Verb != Redeem || outcome.Err != nil {
					continue
				}
				if outcome.Repeated {
					if winner.Till != cmd.Till || winner.Key != cmd.Key {
						t.Fatalf("%+v was told that it has redeemed; %+v has", cmd, winner)
					}
					continue
				}
				winner = cmd
				redeemed++
				if before.Status != order.Paid || reserved && before.Reservation.Till != cmd.Till.ID ||
					past && !reserved {
					t.Fatalf("%+v redeemed %+v", cmd, before)
				}
			}
		}
		if redeemed+refunded+lapsed > 1 {
			t.Fatalf("redeemed %d times, refunded %d, lapsed %d", redeemed, refunded, lapsed)
		}
	})
}
