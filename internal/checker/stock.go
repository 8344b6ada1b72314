package checker

// checkStocks checks that the ledger's stock, and the shown stock, each plus the units of live orders, add up to the
// units issued.
func (c *check) checkStocks() {
	if c.e.complete() == nil {
		c.checkStockBound()
		return
	}
	live := c.e.Live() + c.e.Kept
	if c.e.Kept < 0 {
		c.find(Conservation, subject{}, "the ledger has %d units kept", c.e.Kept)
	}
	if s := c.e.LedgerStock; s != nil {
		if *s < 0 || *s+live != c.e.Issued {
			c.find(Conservation, subject{},
				"the ledger has %d units left and %d in live orders and kept ones; %d were issued", *s, live,
				c.e.Issued)
		}
		c.checkSurplus("the ledger", *s+live)
	}
	if s := c.e.ShownStock; s != nil && *s+live != c.e.Issued {
		c.find(Conservation, subject{},
			"%d units are shown as left; with %d in live orders and kept ones that makes %d of %d",
			*s, live, *s+live, c.e.Issued)
	}
}

// checkStockBound is the check without a list of all orders: known orders plus the stock must not exceed the units
// issued.
func (c *check) checkStockBound() {
	s := c.e.ShownStock
	if s == nil {
		return
	}
	known := map[int64]int64{}
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			if o.Status.Live() && o.Voucher == c.e.Voucher {
				known[o.ID] = o.units()
			}
		}
	}
	n := int64(0)
	for _, units := range known {
		n += units
	}
	if *s+n > c.e.Issued {
		c.find(Conservation, subject{}, "%d units are shown as left; with %d in known live orders that makes %d of %d",
			*s, n, *s+n, c.e.Issued)
	}
}

// checkSurplus finds surplus units in a sale in which units were given back: some came back twice.
func (c *check) checkSurplus(where string, got int64) {
	if got > c.e.Issued && c.unitsGivenBack() {
		c.find(ReturnedOnce, subject{}, "%s accounts for %d units, but %d were issued; some were given back twice",
			where, got, c.e.Issued)
	}
}

// unitsGivenBack reports whether any order gave its units back.
func (c *check) unitsGivenBack() bool {
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			if o.Voucher == c.e.Voucher && (o.Status.givenBack() || o.Status == Failed) {
				return true
			}
		}
	}
	return false
}

// checkRedis checks conservation in Redis, and its holders against the live orders.
func (c *check) checkRedis() {
	r := c.e.Redis
	if r == nil {
		return
	}
	if r.Dead > 0 {
		c.find(Settled, subject{}, "%d dead letters", r.Dead)
	}
	if r.Waiting > 0 {
		c.find(Recovered, subject{}, "%d entries still wait in Redis", r.Waiting)
	}
	v := c.e.complete()
	if v == nil {
		return
	}
	live := c.e.Live() + c.e.Kept
	got := r.Stock + r.Waiting + r.Dead + live
	if got != c.e.Issued {
		c.find(Conservation, subject{},
			"redis has %d left, %d waiting, %d dead letters; with %d units in live orders that makes %d of %d",
			r.Stock, r.Waiting, r.Dead, live, got, c.e.Issued)
	}
	c.checkSurplus("redis", got)
	c.checkHolders(*v, *r)
}

// checkHolders checks that Redis has exactly the live orders' users as holders.
func (c *check) checkHolders(v View, r Redis) {
	holders := r.Holders
	holds := make(map[int64]bool, len(holders))
	for _, o := range v.Orders {
		if !o.Status.Live() || o.Voucher != c.e.Voucher {
			continue
		}
		holds[o.User] = true
		if holders[o.User] != o.ID {
			c.find(OnePerUser, about(o.User, o.ID, holders[o.User]), "user %d has order %d; redis says %d",
				o.User, o.ID, holders[o.User])
		} else if held := max(1, r.Units[o.User]); held != o.units() {
			c.find(Conservation, about(o.User, o.ID), "order %d of user %d has %d units; redis says %d",
				o.ID, o.User, o.units(), held)
		}
	}
	for user, id := range holders {
		if !holds[user] {
			c.find(OnePerUser, about(user, id),
				"redis says that user %d holds order %d, which is not live", user, id)
		}
	}
}
