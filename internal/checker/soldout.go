package checker

import "slices"

// soldOut checks that "sold out" was only said when no unit was to be had at some moment of the call.
//
// Every order took a unit at some moment after its buyer first asked. So at the time of an answer at most as many units
// were gone as orders had been asked for by then; where that is fewer than were issued, the answer was wrong. Units
// that come back later change nothing about it. Where none ever came back, all must be gone in the end, besides.
func (c *check) soldOut() {
	if c.soldOuts == 0 || c.e.Loss {
		return
	}
	if c.e.Changed {
		c.undecided(ToldSo, "stock was added or taken away; whether %d buyers were told SOLD_OUT rightly depends on when", c.soldOuts)
		return
	}
	if left := c.left(); left > 0 && !c.gaveBack() && !c.e.Others {
		c.eachSoldOut(func(a Answer) {
			c.find(ToldSo, about(a.User), "user %d was told SOLD_OUT, with %d of %d units left in the end", a.User, left, c.e.Issued)
		})
		return
	}
	v := c.e.complete()
	if v == nil || c.e.Others {
		c.undecided(ToldSo, "whether units were left when %d buyers were told SOLD_OUT needs a list of all orders and a record of all buyers", c.soldOuts)
		return
	}
	asked := c.askedAt(*v)
	if c.e.Issued < 1 || int64(len(asked)) < c.e.Issued {
		return // too few orders: said above, or by I5
	}
	gone := asked[c.e.Issued-1] // by then as many had asked as there were units
	c.eachSoldOut(func(a Answer) {
		if !a.Told.IsZero() && a.Told.UnixNano() < gone {
			c.find(ToldSo, about(a.User), "user %d was told SOLD_OUT before %d buyers had asked", a.User, c.e.Issued)
		}
	})
}

// left returns how many units are left in the end, as far as anybody tells; 0 when nobody does.
func (c *check) left() int64 {
	if c.e.complete() != nil {
		return c.e.Issued - c.e.Live()
	}
	if c.e.ShownStock != nil {
		return *c.e.ShownStock
	}
	return 0
}

// askedAt returns when the buyer of each order that there ever was had first asked, sorted.
func (c *check) askedAt(v View) []int64 {
	asked := make([]int64, 0, len(v.Orders))
	for _, o := range v.Orders {
		if o.Voucher == c.e.Voucher {
			asked = append(asked, c.people[o.User].first)
		}
	}
	slices.Sort(asked)
	return asked
}

func (c *check) eachSoldOut(do func(Answer)) {
	for a := range c.e.Answers {
		if a.Voucher == c.e.Voucher && a.Action == Buy && a.Verdict == Refused && a.Code == CodeSoldOut {
			do(a)
		}
	}
}
