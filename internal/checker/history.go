package checker

import (
	"fmt"
	"slices"
)

// maxHistory is how many answers of a history are shown: the first ones of a buyer who asked a hundred times.
const maxHistory = 20

// explain gives each finding what is known of the users and orders that it is about: the answers in order, then what
// each witness says in the end.
func (c *check) explain() {
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
	c.hearAgain(users, orders)
	c.lookAgain(users, orders)
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

// hearAgain adds the answers to users and about orders.
func (c *check) hearAgain(users, orders map[int64][]string) {
	for a := range c.e.Answers {
		if a.Voucher != c.e.Voucher {
			continue
		}
		note(users, a.User, maxHistory, a.String)
		if a.Order != 0 {
			note(orders, a.Order, maxHistory, a.String)
		}
	}
}

// lookAgain adds what the other witnesses say of users and orders.
func (c *check) lookAgain(users, orders map[int64][]string) {
	const more = 2 * maxHistory
	for _, v := range c.e.Views {
		for _, o := range v.Orders {
			line := func() string { return v.Name + ": " + o.String() }
			note(users, o.User, more, line)
			note(orders, o.ID, more, line)
		}
	}
	if c.e.Redis == nil {
		return
	}
	for user, id := range c.e.Redis.Places {
		line := func() string { return fmt.Sprintf("redis: the place of user %d is for order %d", user, id) }
		note(users, user, more, line)
		note(orders, id, more, line)
	}
}

// note adds a line to the history under the key, if somebody wants it and it is not too long already.
func note(histories map[int64][]string, key int64, longest int, line func() string) {
	if h, wanted := histories[key]; wanted && len(h) < longest {
		histories[key] = append(h, line())
	}
}
