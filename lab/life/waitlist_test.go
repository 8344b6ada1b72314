package life

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/feature/waitlist"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
)

// inviteWindow is so long that invitations end only when the model lets their deadline pass.
const inviteWindow = time.Hour

// placeRow is a place as the ledger has it.
type placeRow struct {
	user, position int64
	state          waitlist.State
	missed, turns  int64
	order          int64 // 0: none
}

// logPlaces says how many places of all histories have come to what.
func (e *env) logPlaces(t *testing.T) {
	t.Helper()
	rows, err := e.db.QueryContext(t.Context(), "SELECT state, COUNT(*) FROM tb_place GROUP BY state ORDER BY state")
	must(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var state waitlist.State
		var n int64
		must(t, rows.Scan(&state, &n))
		t.Logf("%d places %s", n, state)
	}
	must(t, rows.Err())
}

// aWaiter draws a user, preferring those with a place in one of the states.
func (m *model) aWaiter(t *rapid.T, states ...waitlist.State) int64 {
	var with []int64
	for _, p := range m.w.places(t) {
		for _, s := range states {
			if p.state == s {
				with = append(with, p.user)
			}
		}
	}
	if len(with) == 0 || rapid.IntRange(0, 4).Draw(t, "anybody") == 0 {
		return m.user(t)
	}
	return rapid.SampledFrom(with).Draw(t, "waiter")
}

// rush has all users buy, most of them several units, until the sale is sold out, and then wait: those who have
// bought cannot.
func (m *model) rush(t *rapid.T) {
	for _, user := range m.w.users {
		m.buyAs(t, user, rapid.SampledFrom([]int64{perUser, perUser, perUser - 1}).Draw(t, "units"))
	}
	for _, user := range slices.Backward(m.w.users) {
		m.buyAs(t, user, 1)
	}
	for _, user := range m.w.users {
		m.joinAs(t, user)
	}
	if rapid.IntRange(0, 3).Draw(t, "recorded later") == 0 || len(m.owners) == 0 {
		return
	}
	m.w.record() // so that units may come back
	m.cancel(t)
}

// join has a user wait; the sale is seldom sold out when they ask.
func (m *model) join(t *rapid.T) { m.joinAs(t, m.user(t)) }

func (m *model) joinAs(t *rapid.T, user int64) {
	closed := m.w.off.closed
	p, err := m.w.join(user)
	m.closedTo(t, "joining", closed, err)
	if bought, is := errors.AsType[*gate.AlreadyBoughtError](err); is {
		m.learn(t, bought.OrderID, user)
		return
	}
	if err != nil {
		m.w.expected(t, err, waitlist.ErrOnSale, gate.ErrPaused, gate.ErrEnded, errOffShelf)
		return
	}
	if p.UserID != user || !p.State.Open() {
		t.Fatalf("user %d joined and is answered %+v", user, p)
	}
	m.placed[user] = max(m.placed[user], p.Position)
}

// accept has a user accept an invitation, whether they have one or not: only an invited user may get an order.
func (m *model) accept(t *rapid.T) {
	user := m.aWaiter(t, waitlist.Invited, waitlist.Accepted)
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "accept", "apply", "complete operations", "admit")
	}
	invited := m.invitedAt(t, user)
	p, err := m.w.accept(user)
	m.closedTo(t, "accepting", invited, err)
	switch {
	case err != nil:
		m.w.expected(t, err, waitlist.ErrNoPlace, waitlist.ErrNotInvited, gate.ErrPaused, errOffShelf)
	case p.State == waitlist.Bought:
		m.learn(t, p.OrderID, user)
	case p.State != waitlist.Accepted && p.State != waitlist.Refused:
		t.Fatalf("user %d accepted, and their place is %s", user, p.State)
	}
}

func (m *model) leave(t *rapid.T) {
	user := m.aWaiter(t, waitlist.Waiting, waitlist.Invited)
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "leave")
	}
	if _, err := m.w.leave(user); err != nil {
		m.w.expected(t, err, waitlist.ErrNoPlace, waitlist.ErrAccepted)
	}
}

// pass lets the window of an invitation pass, and takes a turn, which invites the next user.
func (m *model) pass(t *rapid.T) {
	user := m.aWaiter(t, waitlist.Invited)
	m.w.exec(t, "UPDATE tb_place SET deadline = '2020-01-01' WHERE voucher_id = ? AND user_id = ? AND state = 2",
		m.w.voucher, user)
	if rapid.IntRange(0, 2).Draw(t, "fault") == 0 {
		m.injectOne(t, "turn")
	}
	m.w.turn()
}

// windowEnds ends the sale, and with it the list; then it begins again. With a fault it may stay ended.
func (m *model) windowEnds(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "ends") > 0 || m.w.off.known {
		t.Skip("it goes on") // otherwise few invitations would live long enough to be accepted
	}
	end := time.Now().Add(20 * time.Millisecond)
	if m.w.setEnd(t, end) {
		time.Sleep(time.Until(end) + 5*time.Millisecond) // the sale's window is real time
		m.w.turn()
	}
	m.w.setEnd(t, time.Now().Add(time.Hour))
}

// placesAddUp must hold at every moment: units are kept for all who are invited or have accepted, each user has one
// open place, and nobody whose turn has not come was passed over for somebody behind them.
func (m *model) placesAddUp(t *rapid.T, v view) {
	open, invited, last := map[int64]bool{}, int64(0), int64(0)
	for _, p := range v.places {
		if p.turns > 0 {
			last = max(last, p.position)
		}
		if p.state.Open() && open[p.user] {
			t.Fatalf("user %d waits twice: %+v", p.user, v.places)
		}
		open[p.user] = open[p.user] || p.state.Open()
		if p.state == waitlist.Invited {
			invited++
		}
		if p.missed > waitlist.MaxMissed || p.missed == waitlist.MaxMissed && p.state.Open() {
			t.Fatalf("a place has missed %d windows: %+v", p.missed, p)
		}
	}
	if v.sale.accepted < 0 || v.sale.kept < v.sale.accepted+invited {
		t.Fatalf("%d units are kept, for %d acceptances and %d invitations: %+v", v.sale.kept, v.sale.accepted, invited,
			v.places)
	}
	for _, p := range v.places {
		if p.state == waitlist.Waiting && p.turns == 0 && p.position < last {
			t.Fatalf("place %d waits, and the turn of %d has come: %+v", p.position, last, v.places)
		}
	}
}

// acceptancesBecameOrders checks, once all is quiescent, that each acceptance was decided, that each place that was
// bought has an order of one unit, and that no other order came from the list; and that who was given a place has one.
func (m *model) acceptancesBecameOrders(t *rapid.T, v view) {
	fromList, bought, highest := map[int64]bool{}, 0, map[int64]int64{}
	m.w.each(t, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		fromList[id] = true
		return err
	}, "SELECT e.order_id FROM tb_order_event e JOIN tb_voucher_order o ON o.id = e.order_id WHERE e.actor = "+
		"'waiting list' AND o.voucher_id = ?")
	orders := map[int64]orderRow{}
	for _, o := range v.orders {
		orders[o.id] = o
	}
	for _, p := range v.places {
		highest[p.user] = max(highest[p.user], p.position)
		switch p.state {
		case waitlist.Accepted:
			t.Fatalf("an acceptance is not decided, though all is quiescent: %+v", p)
		case waitlist.Bought:
			bought++
			if o := orders[p.order]; o.user != p.user || o.units != 1 || !fromList[p.order] {
				t.Fatalf("place %+v has the order %+v, from the list: %t", p, o, fromList[p.order])
			}
		default:
			if fromList[p.order] {
				t.Fatalf("place %+v has an order from the list", p)
			}
		}
	}
	if bought != len(fromList) {
		t.Fatalf("%d orders came from the list, %d places were bought", len(fromList), bought)
	}
	for user, position := range m.placed {
		if highest[user] < position {
			t.Fatalf("user %d was given place %d, the ledger has %d at most", user, position, highest[user])
		}
	}
}

func (w *world) places(t *rapid.T) []placeRow { return w.placesIn(t, w.db) }

func (w *world) placesIn(t *rapid.T, in querier) (places []placeRow) {
	w.eachIn(t, in, func(rows *sql.Rows) error {
		var p placeRow
		err := rows.Scan(&p.user, &p.position, &p.state, &p.missed, &p.turns, &p.order)
		places = append(places, p)
		return err
	}, "SELECT user_id, position, state, missed, turns, COALESCE(order_id, 0) FROM tb_place WHERE "+
		"voucher_id = ? ORDER BY position")
	return places
}

func (w *world) join(user int64) (waitlist.Place, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	p := w.alive()
	v, err := p.catalog.Find(ctx, w.voucher)
	if err != nil {
		return waitlist.Place{}, err
	}
	return p.waitlists.Join(ctx, user, v, nil)
}

func (w *world) accept(user int64) (waitlist.Place, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	p := w.alive()
	v, err := p.catalog.Find(ctx, w.voucher)
	if err != nil {
		return waitlist.Place{}, err
	}
	return p.waitlists.Accept(ctx, user, v)
}

func (w *world) leave(user int64) (waitlist.Place, error) {
	ctx, cancel := w.withTimeout()
	defer cancel()
	return w.alive().waitlists.Leave(ctx, user, w.voucher)
}

// turn does what the job does. What a fault leaves undone, a later turn does.
func (w *world) turn() {
	ctx, cancel := w.withTimeout()
	defer cancel()
	_ = w.alive().turns.Take(ctx, w.voucher)
}

// setEnd moves the end of the sale and reports whether that is certain.
func (w *world) setEnd(t *rapid.T, end time.Time) bool {
	ctx, cancel := w.withTimeout()
	defer cancel()
	_, _, err := w.alive().vouchers.Change(ctx, admin, w.voucher, voucher.Change{End: &end})
	// On a busy machine the moment may have passed.
	if _, late := errors.AsType[*invalid.Error](err); err != nil && !late {
		w.expected(t, err)
	}
	return err == nil
}

// lists are the waiting lists as one process calls them.
type lists struct {
	*waitlist.Ledger
	ledger ledger
}

func (l lists) Join(
	ctx context.Context, voucherID int64, joining []waitlist.Joining, applied int64,
) (places map[int64]waitlist.Place, err error) {
	err = l.ledger.faults.call("join", func() error {
		places, err = l.Ledger.Join(ctx, voucherID, joining, applied)
		return err
	})
	return places, err
}

func (l lists) Accept(ctx context.Context, v voucher.Voucher, userID, orderID int64) (p waitlist.Place, err error) {
	l.ledger.asked(orderID, userID)
	err = l.ledger.faults.call("accept", func() error {
		p, err = l.Ledger.Accept(ctx, v, userID, orderID)
		return err
	})
	return p, err
}

func (l lists) Leave(ctx context.Context, voucherID, userID int64) (p waitlist.Place, err error) {
	err = l.ledger.faults.call("leave", func() error {
		p, err = l.Ledger.Leave(ctx, voucherID, userID)
		return err
	})
	return p, err
}

func (l lists) Turn(ctx context.Context, voucherID int64, ids []int64) (pass waitlist.Pass, err error) {
	err = l.ledger.faults.call("turn", func() error {
		pass, err = l.Ledger.Turn(ctx, voucherID, ids)
		return err
	})
	return pass, err
}
