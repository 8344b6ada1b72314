package checker

// stocks checks that ledger and people's view, with the live orders, come to what was issued.
func (c *check) stocks() {
	if c.e.complete() == nil {
		c.boundedStock()
		return
	}
	live := c.e.Live()
	if s := c.e.LedgerStock; s != nil {
		if *s < 0 || *s+live != c.e.Issued {
			c.find(Conservation, concern{}, "the ledger has %d left and %d live orders of %d units", *s, live, c.e.Issued)
		}
		c.surplus("the ledger", *s+live)
	}
	if s := c.e.ShownStock; s != nil && *s+live != c.e.Issued {
		c.find(Conservation, concern{}, "%d units are shown as left; with %d live orders that is %d of %d",
			*s, live, *s+live, c.e.Issued)
	}
}

// boundedStock is what can be said without a list of all orders: those that are known cannot be more than are gone.
func (c *check) boundedStock() {
	s := c.e.ShownStock
	if s == nil {
		return
	}
	known := map[int64]bool{}
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			if o.Status.Live() && o.Voucher == c.e.Voucher {
				known[o.ID] = true
			}
		}
	}
	if n := int64(len(known)); *s+n > c.e.Issued {
		c.find(Conservation, concern{}, "%d units are shown as left; with %d known live orders that is %d of %d",
			*s, n, *s+n, c.e.Issued)
	}
}

// surplus: more units than there can be, in a sale in which some came back, are units that came back twice.
func (c *check) surplus(where string, got int64) {
	if got > c.e.Issued && c.gaveBack() {
		c.find(ReturnedOnce, concern{}, "%s accounts for %d of %d units, and units were given back", where, got, c.e.Issued)
	}
}

// gaveBack reports whether any order gave its unit back.
func (c *check) gaveBack() bool {
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			if o.Voucher == c.e.Voucher && (o.Status.givenBack() || o.Status == Failed) {
				return true
			}
		}
	}
	return false
}

// redis checks conservation in Redis, and its places against the live orders.
func (c *check) redis() {
	r := c.e.Redis
	if r == nil {
		return
	}
	if r.Dead > 0 {
		c.find(Settled, concern{}, "%d dead letters", r.Dead)
	}
	if r.Waiting > 0 {
		c.find(Recovered, concern{}, "%d entries still wait in Redis", r.Waiting)
	}
	v := c.e.complete()
	if v == nil {
		return
	}
	live := c.e.Live()
	got := r.Stock + r.Waiting + r.Dead + live
	if got != c.e.Issued {
		c.find(Conservation, concern{}, "redis has %d left, %d waiting, %d dead letters; with %d live orders that is %d of %d units",
			r.Stock, r.Waiting, r.Dead, live, got, c.e.Issued)
	}
	c.surplus("redis", got)
	c.places(*v, r.Places)
}

// places checks that exactly the live orders have a place.
func (c *check) places(v View, places map[int64]int64) {
	seated := make(map[int64]bool, len(places))
	for _, o := range v.Orders {
		if !o.Status.Live() || o.Voucher != c.e.Voucher {
			continue
		}
		seated[o.User] = true
		if places[o.User] != o.ID {
			c.find(OnePerUser, about(o.User, o.ID, places[o.User]), "user %d has order %d; redis says %d", o.User, o.ID, places[o.User])
		}
	}
	for user, id := range places {
		if !seated[user] {
			c.find(OnePerUser, about(user, id), "redis holds a place of user %d for order %d, which is no live order", user, id)
		}
	}
}
