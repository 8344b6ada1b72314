package checker

// checkView checks one list of orders, by itself and against the record.
func (c *check) checkView(v View) {
	byID := make(map[int64]Order, len(v.Orders))
	liveOf := make(map[int64]int64, len(v.Orders))
	live := int64(0)
	for _, o := range v.Orders {
		if _, twice := byID[o.ID]; twice || o.ID <= 0 {
			c.find(IDs, about(o.User, o.ID), "%s: order id %d is not unique and positive", v.Name, o.ID)
		}
		byID[o.ID] = o
		if o.Voucher != c.e.Voucher {
			continue // checkPromise checks it with its answer
		}
		c.checkOrder(v, o)
		if !o.Status.Live() {
			continue
		}
		live += o.units()
		if other, twice := liveOf[o.User]; twice {
			c.find(OnePerUser, about(o.User, other, o.ID), "%s: user %d has the live orders %d and %d",
				v.Name, o.User, other, o.ID)
		}
		liveOf[o.User] = o.ID
	}
	if live > c.e.Issued {
		c.find(NoOversell, subject{}, "%s: %d units in live orders, but %d were issued", v.Name, live, c.e.Issued)
	}
	for id, p := range c.promises {
		c.checkPromise(v, id, p, byID)
	}
	if v.Complete {
		c.checkUnnamed(v)
	}
}

// checkOrder checks one order by itself.
func (c *check) checkOrder(v View, o Order) {
	if _, asked := c.buyers[o.User]; !asked && v.Complete && !c.e.Others {
		c.find(AskedFor, about(o.User, o.ID), "%s: order %d belongs to user %d, who never asked", v.Name, o.ID, o.User)
	}
	if o.units() > max(1, c.e.PerUser) {
		c.find(OnePerUser, about(o.User, o.ID), "%s: order %d of user %d has %d units, more than the allowed %d",
			v.Name, o.ID, o.User, o.Units, max(1, c.e.PerUser))
	}
	if p, named := c.promises[o.ID]; named && p.units != o.units() {
		c.find(TrueAnswers, about(o.User, o.ID), "%s: order %d of user %d has %d units, but the answer said %d",
			v.Name, o.ID, o.User, o.units(), p.units)
	}
	switch {
	case o.Status == Failed:
		c.findUnlessLoss(Settled, about(o.User, o.ID),
			"%s: order %d of user %d failed (%s), although no store lost anything", v.Name, o.ID, o.User, o.Reason)
	case o.Status == Queued, o.Status == StatusUnknown:
		c.find(Settled, about(o.User, o.ID), "%s: order %d of user %d is still %s", v.Name, o.ID, o.User, o.Status)
	case (o.Status.givenBack() || o.Status == Refunding) && !c.releaseExpected(o):
		c.findUnlessLoss(Settled, about(o.User, o.ID), "%s: order %d of user %d is %s, which nobody requested",
			v.Name, o.ID, o.User, o.Status)
	}
}

// releaseExpected reports whether a cancel, a refund or an expiry explains the order's state.
func (c *check) releaseExpected(o Order) bool {
	return c.released[o.ID] || c.e.Expires && o.Status == Cancelled || c.e.Others
}

// checkPromise checks that an order named by an answer exists and belongs to that buyer.
func (c *check) checkPromise(v View, id int64, p promise, byID map[int64]Order) {
	o, there := byID[id]
	s := about(p.user, id)
	switch {
	case !there && c.e.Loss, there && o.Status == Failed && c.e.Loss:
		c.lost[id] = true
	case !there:
		c.find(Settled, s, "%s: order %d of user %d (%s) is missing", v.Name, id, p.user, p.outcome)
	case o.User != p.user:
		c.findUnlessLoss(Settled, subject{[]int64{p.user, o.User}, []int64{id}},
			"%s: order %d was promised to user %d but is user %d's", v.Name, id, p.user, o.User)
	case o.Voucher != c.e.Voucher:
		c.find(IDs, s, "%s: order %d was promised for voucher %d but is for voucher %d",
			v.Name, id, c.e.Voucher, o.Voucher)
	}
}

// checkUnnamed finds live orders whose buyers got another answer.
func (c *check) checkUnnamed(v View) {
	for _, o := range v.Orders {
		b, asked := c.buyers[o.User]
		if !asked || !o.Status.Live() || o.Voucher != c.e.Voucher || b.order == o.ID {
			continue
		}
		if c.e.GaveUp && (b.lastOutcome == Unknown || b.lastOutcome == Later) {
			continue // asking again would have named it
		}
		c.findUnlessLoss(TrueAnswers, about(o.User, o.ID),
			"%s: user %d has order %d but never got it in an answer; the last answer was %s",
			v.Name, o.User, o.ID, b.lastOutcome)
	}
}
