package checker

// checkShares checks the shares of a split sale: no unit is on its way, ledger and Redis agree about each of them, together they have
// what the sale has, and each user is in one of them.
func (c *check) checkShares() {
	if c.e.Shares == nil {
		return
	}
	var ledger, redis ShareUnits
	for i, s := range c.e.Shares {
		ledger, redis = ledger.plus(s.Ledger), redis.plus(s.Redis)
		if c.e.Redis != nil && s.Ledger != s.Redis {
			c.find(Conservation, subject{}, "share %d: the ledger has %d left, %d moved away and %d hither; redis %d, %d and %d", i,
				s.Ledger.Stock, s.Ledger.MovedOut, s.Ledger.MovedIn, s.Redis.Stock, s.Redis.MovedOut, s.Redis.MovedIn)
		}
	}
	c.checkMoves("the ledger", ledger)
	if stock := c.e.LedgerStock; stock != nil && *stock != ledger.Stock {
		c.find(Conservation, subject{}, "the ledger has %d left, its shares have %d", *stock, ledger.Stock)
	}
	if r := c.e.Redis; r != nil {
		c.checkMoves("redis", redis)
		if r.Stock != redis.Stock {
			c.find(Conservation, subject{}, "redis has %d left, its shares have %d", r.Stock, redis.Stock)
		}
	}
	if v := c.e.complete(); v != nil {
		c.checkSharesOfUsers(*v)
	}
}

func (u ShareUnits) plus(o ShareUnits) ShareUnits {
	return ShareUnits{Stock: u.Stock + o.Stock, MovedOut: u.MovedOut + o.MovedOut, MovedIn: u.MovedIn + o.MovedIn}
}

// checkMoves checks that what has left shares has come to shares.
func (c *check) checkMoves(where string, all ShareUnits) {
	switch {
	case all.MovedOut > all.MovedIn:
		c.find(Recovered, subject{}, "%s: %d units have left shares and %d have come to shares; the rest is on its way", where, all.MovedOut, all.MovedIn)
	case all.MovedOut < all.MovedIn:
		c.find(NoOversell, subject{}, "%s: %d units have left shares and %d have come to shares", where, all.MovedOut, all.MovedIn)
	}
}

// checkSharesOfUsers checks that all orders of a user are in one share, and that they are a holder there.
func (c *check) checkSharesOfUsers(v View) {
	shareOf := make(map[int64]Order, len(v.Orders))
	for _, o := range v.Orders {
		if o.Voucher != c.e.Voucher {
			continue
		}
		if first, before := shareOf[o.User]; before && first.Share != o.Share {
			c.find(OnePerUser, about(o.User, first.ID, o.ID), "%s: user %d has orders in the shares %d and %d", v.Name, o.User, first.Share, o.Share)
		}
		shareOf[o.User] = o
	}
	if c.e.Redis == nil {
		return
	}
	for user, share := range c.e.Redis.Shares {
		if o, has := shareOf[user]; has && o.Share != share {
			c.find(OnePerUser, about(user, o.ID), "redis says that user %d is a holder in share %d; their order is in share %d", user, share, o.Share)
		}
	}
}
