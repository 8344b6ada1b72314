package checker

// buyer summarizes the record of one buyer. There may be a million of them.
type buyer struct {
	order       int64 // the order named by the last answer; 0: none
	orderSeen   int64 // when an answer first named it, in ns since 1970; 0: the record has no times
	firstSent   int64 // when the buyer first asked, in ns since 1970; 0: the record has no times
	lastOutcome Outcome
}

// promise is an order that an answer named.
type promise struct {
	user    int64
	units   int64
	outcome Outcome
}

// readAnswers reads the record once, in order.
func (c *check) readAnswers() {
	for a := range c.e.Answers {
		if a.Voucher != c.e.Voucher {
			continue
		}
		if a.Action != Buy {
			// The request is enough: the order may have been cancelled, whatever the answer was.
			c.released[a.Order] = true
			continue
		}
		c.buyers[a.User] = c.withAnswer(c.buyers[a.User], a)
	}
}

// withAnswer returns the buyer updated with one more answer.
func (c *check) withAnswer(b buyer, a Answer) buyer {
	if b.lastOutcome = a.Outcome; b.firstSent == 0 && !a.Sent.IsZero() {
		b.firstSent = a.Sent.UnixNano()
	}
	switch a.Outcome {
	case Accepted, Held:
		c.addPromise(a)
		b = c.withOrder(b, a)
	case Refused:
		if a.Code == CodeSoldOut {
			c.soldOuts++
		}
		if b.order != 0 && !c.released[b.order] && !mayPrecedeOrder(b, a) {
			c.findUnlessLoss(TrueAnswers, about(a.User, b.order), "user %d has order %d and got the answer %s",
				a.User, b.order, a.Code)
		}
	case Unknown, Later: // only the last answer must not be one of these, see checkResolved
	}
	return b
}

// withOrder returns the buyer updated with an answer that names an order.
func (c *check) withOrder(b buyer, a Answer) buyer {
	if b.order == a.Order {
		return b
	}
	if b.order != 0 && !c.released[b.order] && !c.released[a.Order] {
		c.findUnlessLoss(TrueAnswers, about(a.User, b.order, a.Order), "user %d got order %d, then %d",
			a.User, b.order, a.Order)
	}
	b.order, b.orderSeen = a.Order, 0
	if !a.Received.IsZero() {
		b.orderSeen = a.Received.UnixNano()
	}
	return b
}

// mayPrecedeOrder reports whether a refusal was already under way when the buyer learned of their order: then it may be
// older than the order.
func mayPrecedeOrder(b buyer, a Answer) bool {
	return b.orderSeen != 0 && !a.Sent.IsZero() && a.Sent.UnixNano() <= b.orderSeen
}

// addPromise records that an answer named an order.
func (c *check) addPromise(a Answer) {
	if a.Order <= 0 {
		c.find(IDs, about(a.User), "user %d got the order id %d", a.User, a.Order)
	}
	before, known := c.promises[a.Order]
	if known && before.user != a.User {
		c.find(IDs, subject{[]int64{before.user, a.User}, []int64{a.Order}},
			"users %[2]d and %[3]d both got order %[1]d", a.Order, before.user, a.User)
	}
	if !known {
		c.promises[a.Order] = promise{a.User, max(1, a.Units), a.Outcome}
	}
}

// checkPromises checks that answers did not name orders of more units than were issued; it needs no list of orders.
func (c *check) checkPromises() {
	if c.e.Expires || c.e.Loss || c.unitsGivenBack() {
		return
	}
	n := int64(0)
	for id, p := range c.promises {
		if !c.released[id] {
			n += p.units
		}
	}
	if n > c.e.Issued {
		c.find(NoOversell, subject{}, "answers named orders of %d units; only %d were issued", n, c.e.Issued)
	}
}

// findUnlessLoss is find for contradictions that a loss of acknowledged writes excuses.
func (c *check) findUnlessLoss(i Invariant, s subject, format string, args ...any) {
	if !c.e.Loss {
		c.find(i, s, format, args...)
	}
}

// checkResolved finds buyers who kept asking and never got an outcome.
func (c *check) checkResolved() {
	n := 0
	for user, b := range c.buyers {
		if b.lastOutcome != Unknown && b.lastOutcome != Later {
			continue
		}
		if n++; !c.e.GaveUp {
			c.findUnlessLoss(Resolved, about(user),
				"user %d asked again and never got an outcome; their last answer was %s", user, b.lastOutcome)
		}
	}
	if n > 0 && c.e.GaveUp {
		c.undecided(Resolved, "%d buyers stopped asking before they had an outcome", n)
	}
}
