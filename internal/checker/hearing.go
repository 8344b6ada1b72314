package checker

// person is what the record says of one buyer. There may be a million of them.
type person struct {
	order  int64 // the order of which he was told last; 0: none
	toldAt int64 // when he was first told of it, in ns since 1970; 0: the record has no times
	first  int64 // when he first asked, likewise
	last   Verdict
}

// promise is an order that an answer named.
type promise struct {
	user    int64
	verdict Verdict
}

// hear reads the record once, in order.
func (c *check) hear() {
	for a := range c.e.Answers {
		if a.Voucher != c.e.Voucher {
			continue
		}
		if a.Action != Buy {
			// Asking is enough: whatever the answer was, the order may have been given up.
			c.released[a.Order] = true
			continue
		}
		c.people[a.User] = c.heard(c.people[a.User], a)
	}
}

// heard returns what is known of a buyer after one more answer to him.
func (c *check) heard(p person, a Answer) person {
	if p.last = a.Verdict; p.first == 0 && !a.Sent.IsZero() {
		p.first = a.Sent.UnixNano()
	}
	switch a.Verdict {
	case Accepted, Held:
		c.promised(a)
		if p.order != 0 && p.order != a.Order && !c.released[p.order] && !c.released[a.Order] {
			c.missed(ToldSo, about(a.User, p.order, a.Order), "user %d was told order %d, then %d", a.User, p.order, a.Order)
		}
		if p.order != a.Order {
			p.order, p.toldAt = a.Order, 0
			if !a.Told.IsZero() {
				p.toldAt = a.Told.UnixNano()
			}
		}
	case Refused:
		if a.Code == CodeSoldOut {
			c.soldOuts++
		}
		if p.order != 0 && !c.released[p.order] && !overtaken(p, a) {
			c.missed(ToldSo, about(a.User, p.order), "user %d has order %d and was told %s", a.User, p.order, a.Code)
		}
	case Unknown, Later: // only the last answer to a user must not be one of these; looked at when all were heard
	}
	return p
}

// overtaken reports whether a refusal was on its way when the buyer was told his order: it may be older than the order.
func overtaken(p person, a Answer) bool {
	return p.toldAt != 0 && !a.Sent.IsZero() && a.Sent.UnixNano() <= p.toldAt
}

// promised notes that an answer named an order.
func (c *check) promised(a Answer) {
	if a.Order <= 0 {
		c.find(IDs, about(a.User), "user %d was told the order id %d", a.User, a.Order)
	}
	before, known := c.promises[a.Order]
	if known && before.user != a.User {
		c.find(IDs, concern{[]int64{before.user, a.User}, []int64{a.Order}},
			"order %d was given to the users %d and %d", a.Order, before.user, a.User)
	}
	if !known {
		c.promises[a.Order] = promise{a.User, a.Verdict}
	}
}

// promisedTooMuch compares the orders that were named with the units, whether anybody can list the orders or not.
func (c *check) promisedTooMuch() {
	if c.e.Closes || c.e.Loss || c.gaveBack() {
		return
	}
	n := int64(len(c.promises))
	for id := range c.released {
		if _, named := c.promises[id]; named {
			n--
		}
	}
	if n > c.e.Issued {
		c.find(NoOversell, concern{}, "buyers were told %d orders of %d units", n, c.e.Issued)
	}
}

// missed is find for what a loss of acknowledged writes excuses.
func (c *check) missed(i Invariant, w concern, format string, args ...any) {
	if !c.e.Loss {
		c.find(i, w, format, args...)
	}
}

// unresolved looks for buyers who asked again and never knew.
func (c *check) unresolved() {
	n := 0
	for user, p := range c.people {
		if p.last != Unknown && p.last != Later {
			continue
		}
		if n++; !c.e.GaveUp {
			c.missed(Resolved, about(user), "user %d asked again and never knew; his last answer was %s", user, p.last)
		}
	}
	if n > 0 && c.e.GaveUp {
		c.undecided(Resolved, "%d buyers stopped asking before they knew", n)
	}
}
