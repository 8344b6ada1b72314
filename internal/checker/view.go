package checker

// look checks one list of orders by itself, and against the record.
func (c *check) look(v View) {
	byID := make(map[int64]Order, len(v.Orders))
	liveOf := make(map[int64]int64, len(v.Orders))
	live := int64(0)
	for _, o := range v.Orders {
		if _, twice := byID[o.ID]; twice || o.ID <= 0 {
			c.find(IDs, about(o.User, o.ID), "%s: order id %d is not unique and positive", v.Name, o.ID)
		}
		byID[o.ID] = o
		if o.Voucher != c.e.Voucher {
			continue // looked at with the answer that named it
		}
		c.state(v, o)
		if !o.Status.Live() {
			continue
		}
		live++
		if other, twice := liveOf[o.User]; twice {
			c.find(OnePerUser, about(o.User, other, o.ID), "%s: user %d has the live orders %d and %d", v.Name, o.User, other, o.ID)
		}
		liveOf[o.User] = o.ID
	}
	if live > c.e.Issued {
		c.find(NoOversell, concern{}, "%s: %d live orders of %d units", v.Name, live, c.e.Issued)
	}
	for id, p := range c.promises {
		c.keptPromise(v, id, p, byID)
	}
	if v.Complete {
		c.neverTold(v)
	}
}

// state checks one order by itself.
func (c *check) state(v View, o Order) {
	if _, asked := c.people[o.User]; !asked && v.Complete && !c.e.Others {
		c.find(AskedFor, about(o.User, o.ID), "%s: order %d of user %d, who never asked", v.Name, o.ID, o.User)
	}
	switch {
	case o.Status == Failed:
		c.missed(Settled, about(o.User, o.ID), "%s: order %d of user %d failed (%s), though no store lost anything",
			v.Name, o.ID, o.User, o.Reason)
	case o.Status == Queued, o.Status == StatusUnknown:
		c.find(Settled, about(o.User, o.ID), "%s: order %d of user %d is still %s", v.Name, o.ID, o.User, o.Status)
	case (o.Status.givenBack() || o.Status == Refunding) && !c.mayBeGivenBack(o):
		c.missed(Settled, about(o.User, o.ID), "%s: order %d of user %d is %s, which nobody asked for", v.Name, o.ID, o.User, o.Status)
	}
}

// mayBeGivenBack reports whether somebody may have asked for what became of the order.
func (c *check) mayBeGivenBack(o Order) bool {
	return c.released[o.ID] || c.e.Closes && o.Status == Cancelled || c.e.Others
}

// keptPromise checks that an order that was promised is there, and its buyer's.
func (c *check) keptPromise(v View, id int64, p promise, byID map[int64]Order) {
	o, there := byID[id]
	w := about(p.user, id)
	switch {
	case !there && c.e.Loss, there && o.Status == Failed && c.e.Loss:
		c.lost[id] = true
	case !there:
		c.find(Settled, w, "%s: order %d of user %d (%s) is not there", v.Name, id, p.user, p.verdict)
	case o.User != p.user:
		c.missed(Settled, concern{[]int64{p.user, o.User}, []int64{id}},
			"%s: order %d was promised to user %d and is user %d's", v.Name, id, p.user, o.User)
	case o.Voucher != c.e.Voucher:
		c.find(IDs, w, "%s: order %d was promised for voucher %d and is for voucher %d", v.Name, id, c.e.Voucher, o.Voucher)
	}
}

// neverTold looks for live orders whose buyers asked and were told something else.
func (c *check) neverTold(v View) {
	for _, o := range v.Orders {
		p, asked := c.people[o.User]
		if !asked || !o.Status.Live() || o.Voucher != c.e.Voucher || p.order == o.ID {
			continue
		}
		if c.e.GaveUp && (p.last == Unknown || p.last == Later) {
			continue // he would have been told
		}
		c.missed(ToldSo, about(o.User, o.ID), "%s: user %d has order %d and was never told; his last answer was %s",
			v.Name, o.User, o.ID, p.last)
	}
}
