package checker

import (
	"fmt"
	"slices"
)

// maxHistory is how many answers a history shows at most: the first ones, if a buyer asked a hundred times.
const maxHistory = 20

// addHistories gives each finding the history of its users and orders: the answers in order, then the final state in
// each source.
func (c *check) addHistories() {
	users, orders := map[int64][]string{}, map[int64][]string{}
	for _, f := range c.report.Findings {
		for _, u := range f.users {
			users[u] = nil
		}
		for _, o := range f.orders {
			orders[o] = nil
		}
	}
	if len(users)+len(orders) == 0 {
		return
	}
	c.answerLines(users, orders)
	c.viewLines(users, orders)
	for i := range c.report.Findings {
		f := &c.report.Findings[i]
		for _, u := range f.users {
			f.History = append(f.History, users[u]...)
		}
		for _, o := range f.orders {
			for _, line := range orders[o] {
				if !slices.Contains(f.History, line) {
					f.History = append(f.History, line)
				}
			}
		}
	}
}

// answerLines adds the answers that name the users or orders.
func (c *check) answerLines(users, orders map[int64][]string) {
	for a := range c.e.Answers {
		if a.Voucher != c.e.Voucher {
			continue
		}
		addLine(users, a.User, maxHistory, a.String)
		if a.Order != 0 {
			addLine(orders, a.Order, maxHistory, a.String)
		}
	}
}

// viewLines adds the other sources' data about the users and orders.
func (c *check) viewLines(users, orders map[int64][]string) {
	const more = 2 * maxHistory
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			line := func() string { return v.Name + ": " + o.String() }
			addLine(users, o.User, more, line)
			addLine(orders, o.ID, more, line)
		}
	}
	if c.e.Redis == nil {
		return
	}
	for user, id := range c.e.Redis.Holders {
		line := func() string { return fmt.Sprintf("redis: user %d holds order %d", user, id) }
		addLine(users, user, more, line)
		addLine(orders, id, more, line)
	}
}

// addLine adds a line to the history for the key, if there is such a history and it is shorter than longest.
func addLine(histories map[int64][]string, key int64, longest int, line func() string) {
	if h, wanted := histories[key]; wanted && len(h) < longest {
		histories[key] = append(h, line())
	}
}
