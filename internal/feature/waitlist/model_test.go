package waitlist_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"seckill/internal/feature/waitlist"
)

// window is how long an invitation of the model stands, in its seconds.
const window = 30

// modelPlace is a place of the model. Its position is its index.
type modelPlace struct {
	user     int64
	state    waitlist.State
	missed   int64
	standing bool
	deadline int64 // of its invitation
	asked    asked // of its acceptance
}

// asked is what became of the operation that asks Redis about an acceptance.
type asked int8

const (
	pending asked = iota
	taken
	refused
	voided
)

// model is what a sale and its waiting list do, without stores: the rules in a hundred lines.
type model struct {
	now                           int64
	stock, kept, accepted, issued int64
	live                          map[int64]bool // users with a live order, of one unit each
	open, paused, over, calledOff bool
	places                        []*modelPlace
}

func newModel(units int64) *model {
	m := &model{issued: units, live: map[int64]bool{}}
	for user := range units {
		m.live[user+1] = true
	}
	return m
}

func (m *model) count(states ...waitlist.State) (n int64) {
	for _, p := range m.places {
		if slices.Contains(states, p.state) {
			n++
		}
	}
	return n
}

func (m *model) placeOf(user int64) *modelPlace {
	for _, p := range m.places {
		if p.user == user && p.state.Open() {
			return p
		}
	}
	return nil
}

// give puts a unit that comes back where it belongs.
func (m *model) give(units int64) {
	if m.open && !m.over {
		m.kept += units
	} else {
		m.stock += units
	}
}

func (m *model) cancel(user int64) {
	if m.live[user] {
		delete(m.live, user)
		m.give(1)
	}
}

// restock adds units, or takes them: from what is on sale, else from what is kept and promised to nobody.
func (m *model) restock(delta int64) (done bool) {
	switch spare := m.kept - m.accepted - m.count(waitlist.Invited); {
	case m.calledOff:
		return false
	case delta > 0:
		m.give(delta)
	case m.stock >= -delta:
		m.stock += delta
	case spare >= -delta:
		m.kept += delta
	default:
		return false
	}
	m.issued += delta
	return true
}

// buy sells a unit on sale.
func (m *model) buy(user int64) {
	if !m.over && !m.paused && m.stock > 0 && !m.live[user] {
		m.stock, m.live[user] = m.stock-1, true
	}
}

// join adds a place of a sold-out sale, or says yes for the one that there is.
func (m *model) join(user int64, standing bool) {
	if m.over || m.paused || m.stock > 0 || m.live[user] {
		return
	}
	p := m.placeOf(user)
	if p == nil {
		p = &modelPlace{user: user, state: waitlist.Waiting}
		m.places, m.open = append(m.places, p), true
	}
	p.standing = p.standing || standing
}

func (m *model) accept(user int64) {
	if p := m.placeOf(user); p != nil && p.state == waitlist.Invited && !m.paused && !m.over && m.now < p.deadline {
		m.ask(p)
	}
}

func (m *model) ask(p *modelPlace) {
	p.state, p.asked = waitlist.Accepted, pending
	m.accepted++
}

func (m *model) leave(user int64) {
	switch p := m.placeOf(user); {
	case p == nil || p.state == waitlist.Accepted:
	case p.state == waitlist.Invited:
		p.state = waitlist.Declined
	default:
		p.state = waitlist.Left
	}
}

// decide completes the acceptance of a place as Redis decides: a user with another order is refused.
func (m *model) decide(p *modelPlace) {
	if p.asked != pending {
		return
	}
	m.accepted--
	if p.asked = refused; !m.live[p.user] {
		p.asked, m.live[p.user] = taken, true
		m.kept--
	}
}

// callOff ends the sale for good: units that come back are in the stock, and never for sale.
func (m *model) callOff() { m.over, m.calledOff = true, true }

// unwind ends the orders of a sale that was called off.
func (m *model) unwind() {
	if m.calledOff {
		for user := range m.live {
			m.cancel(user)
		}
	}
}

// decideAll completes all acceptances that are pending.
func (m *model) decideAll() {
	for _, p := range m.places {
		if p.state == waitlist.Accepted {
			m.decide(p)
		}
	}
}

// rebuild voids what is undecided.
func (m *model) rebuild() {
	for _, p := range m.places {
		if p.state == waitlist.Accepted && p.asked == pending {
			p.asked = voided
		}
	}
}

func (m *model) pass(seconds int64) {
	m.now += seconds
	if m.paused {
		for _, p := range m.places {
			if p.state == waitlist.Invited {
				p.deadline += seconds
			}
		}
	}
}

// turn is one turn of the job.
func (m *model) turn() {
	if !m.open {
		return
	}
	for _, p := range m.places {
		if p.state == waitlist.Accepted {
			switch p.asked {
			case pending:
			case taken:
				p.state = waitlist.Bought
			case refused:
				p.state = waitlist.Refused
			case voided:
				p.asked = pending // with the same order id
			}
		}
	}
	switch {
	case m.over:
		m.end()
	case !m.paused:
		m.miss()
		m.invite()
	}
	if m.count(waitlist.Waiting, waitlist.Invited) == 0 && m.accepted == 0 {
		m.stock, m.kept, m.open = m.stock+m.kept, 0, false
	}
}

func (m *model) end() {
	for _, p := range m.places {
		if p.state == waitlist.Waiting || p.state == waitlist.Invited {
			if p.state = waitlist.Over; m.calledOff {
				p.state = waitlist.CalledOff
			}
		}
	}
}

func (m *model) miss() {
	for _, p := range m.places {
		if p.state == waitlist.Invited && m.now >= p.deadline {
			if p.missed++; p.missed < waitlist.MaxMissed {
				p.state = waitlist.Waiting
			} else {
				p.state = waitlist.Missed
			}
		}
	}
}

func (m *model) invite() {
	for m.count(waitlist.Invited) < m.kept-m.accepted {
		head := m.head()
		if head == nil {
			return
		}
		switch {
		case m.live[head.user]:
			head.state = waitlist.Refused
		case head.standing:
			m.ask(head)
		default:
			head.state, head.deadline = waitlist.Invited, m.now+window
		}
	}
}

// head is who is invited next: the first of those who have missed least.
func (m *model) head() (head *modelPlace) {
	for _, p := range m.places {
		if p.state == waitlist.Waiting && (head == nil || p.missed < head.missed) {
			head = p
		}
	}
	return head
}

// wrong returns what must never be so.
func (m *model) wrong() error {
	invited := m.count(waitlist.Invited)
	switch live := int64(len(m.live)); {
	case m.stock < 0 || m.accepted < 0:
		return fmt.Errorf("stock %d, accepted %d", m.stock, m.accepted)
	case m.kept < m.accepted+invited:
		return fmt.Errorf("%d units are kept for %d acceptances and %d invitations", m.kept, m.accepted, invited)
	case m.stock+m.kept+live != m.issued:
		return fmt.Errorf("stock %d + kept %d + live %d != issued %d", m.stock, m.kept, live, m.issued)
	case !m.open && m.kept != 0:
		return fmt.Errorf("%d units are kept for a closed list", m.kept)
	case !m.open && m.count(waitlist.Waiting, waitlist.Invited, waitlist.Accepted) > 0:
		return fmt.Errorf("places are open on a closed list")
	}
	return nil
}

// step does one thing of a history to the model, and returns it in words.
func (m *model) step(r *rand.Rand, users int64) string {
	user := 1 + r.Int64N(users)
	switch n := r.IntN(100); {
	case n < 12:
		m.cancel(user)
		return fmt.Sprintf("cancel %d", user)
	case n < 35:
		standing := r.IntN(4) == 0
		m.join(user, standing)
		return fmt.Sprintf("join %d %t", user, standing)
	case n < 45:
		m.accept(user)
		return fmt.Sprintf("accept %d", user)
	case n < 52:
		m.leave(user)
		return fmt.Sprintf("leave %d", user)
	case n < 60:
		m.decideAll()
		return "decide"
	case n < 63:
		m.rebuild()
		return "rebuild"
	case n < 68:
		delta := r.Int64N(5) - 2
		m.restock(delta)
		return fmt.Sprintf("restock %d", delta)
	case n < 73:
		m.buy(user)
		return fmt.Sprintf("buy %d", user)
	case n < 76:
		m.paused = !m.paused
		return fmt.Sprintf("paused %t", m.paused)
	case n < 82:
		m.pass(r.Int64N(window + 5))
		return fmt.Sprintf("at %d", m.now)
	case n < 83:
		m.over = true
		return "the sale ends"
	case n < 84:
		m.callOff()
		return "call off"
	case n < 87:
		m.unwind()
		return "unwind"
	default:
		m.turn()
		return "turn"
	}
}
