package checker

import "slices"

// checkSoldOut checks that "sold out" was only answered if at some time during the call no unit was left.
//
// Every order got its units after its buyer first asked. So at the time of an answer, at most the units of the orders
// requested by then were gone; if those are fewer than were issued, the answer was wrong, even if units came back
// later. If no unit ever came back, all must be gone in the end as well.
func (c *check) checkSoldOut() {
	if c.soldOuts == 0 || c.e.Loss {
		return
	}
	if c.e.Changed {
		c.undecided(TrueAnswers, "stock was added or removed; whether %d SOLD_OUT answers were right depends on when",
			c.soldOuts)
		return
	}
	if left := c.left(); left > 0 && !c.unitsGivenBack() && !c.e.Others {
		c.eachSoldOut(func(a Answer) {
			c.find(TrueAnswers, about(a.User), "user %d got SOLD_OUT, with %d of %d units left in the end",
				a.User, left, c.e.Issued)
		})
		return
	}
	v := c.e.complete()
	if v == nil || c.e.Others {
		c.undecided(TrueAnswers, "checking %d SOLD_OUT answers against the units left then needs a list of all "+
			"orders and a record of all buyers", c.soldOuts)
		return
	}
	asked := c.requestTimes(*v)
	if c.e.Issued < 1 || int64(len(asked)) < c.e.Issued {
		return // too few orders: found above, or by I5
	}
	gone := asked[c.e.Issued-1] // when requests covered all units
	c.eachSoldOut(func(a Answer) {
		if !a.Received.IsZero() && a.Received.UnixNano() < gone {
			c.find(TrueAnswers, about(a.User), "user %d got SOLD_OUT before %d units had been requested",
				a.User, c.e.Issued)
		}
	})
}

// left returns how many units are left in the end, or 0 if no source says.
func (c *check) left() int64 {
	if c.e.complete() != nil {
		return c.e.Issued - c.e.Live() - c.e.Kept
	}
	if c.e.ShownStock != nil {
		return *c.e.ShownStock
	}
	return 0
}

// requestTimes returns, for each unit of each order, when its buyer first asked, sorted.
func (c *check) requestTimes(v View) []int64 {
	asked := make([]int64, 0, len(v.Orders))
	for _, o := range v.Orders {
		if o.Voucher == c.e.Voucher {
			for range o.units() {
				asked = append(asked, c.buyers[o.User].firstSent)
			}
		}
	}
	slices.Sort(asked)
	return asked
}

func (c *check) eachSoldOut(do func(Answer)) {
	for a := range c.e.Answers {
		if a.Voucher == c.e.Voucher && a.Action == Buy && a.Outcome == Refused && a.Code == CodeSoldOut {
			do(a)
		}
	}
}
