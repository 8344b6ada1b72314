package httpkit

import (
	"context"
	"maps"
	"slices"
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// Members are functions with which features add members to answers of the core and of other features, by the member's
// name in the answer. A name that is missing adds nothing. A function returns order.ErrUnavailable if it cannot read
// its data in time.
type Members map[string]Member

// Member is what a feature adds under one name. A nil function adds nothing.
type Member struct {
	// Sale returns the member of a voucher's sale, to be written as JSON; nil if there is none. With an error, it
	// returns what can be shown all the same.
	Sale func(ctx context.Context, v voucher.Voucher) (shown any, err error)
	// Order returns the member of an order, to be written as JSON, whole or masked; nil if there is none. It may store
	// data that is missing.
	Order func(ctx context.Context, o order.Order, whole bool) (shown any, err error)
	// Orders returns the cells of orders in a file, whole or masked, by order and the cell's name. It writes nothing.
	Orders func(ctx context.Context, ids []int64, whole bool) (map[int64]map[string]string, error)
	// Users returns the accounts of the users; users without an account are left out.
	Users func(ctx context.Context, ids []int64) (map[int64]voucher.Account, error)
	// Shops returns the names of shops. Shops without a name are left out, and those whose name cannot be read now.
	Shops func(ctx context.Context, ids []int64) map[int64]string
	// SearchShops returns the shops that a search finds; more: there may be others that have the part in their names.
	SearchShops func(ctx context.Context, q voucher.ShopSearch) (found []voucher.FoundShop, more bool, err error)
	// Find returns the order that a typed text names in the terms of this member, such as a code; 0 if there is none.
	// Error: *invalid.Error.
	Find func(ctx context.Context, text string) (orderID int64, err error)
	// Check returns a line for the checklist of a sale. The last change by staff was at changed; zero: never.
	Check func(ctx context.Context, voucherID int64, changed time.Time) check.Line
}

// Of returns the member with the name. All of its functions can be called: a function that no feature provides returns
// nothing.
func (m Members) Of(name string) Member {
	type (
		cells    = map[int64]map[string]string
		accounts = map[int64]voucher.Account
	)
	of := m[name]
	if of.Sale == nil {
		of.Sale = func(context.Context, voucher.Voucher) (any, error) { return nothing[any]() }
	}
	if of.Order == nil {
		of.Order = func(context.Context, order.Order, bool) (any, error) { return nothing[any]() }
	}
	if of.Orders == nil {
		of.Orders = func(context.Context, []int64, bool) (cells, error) { return nothing[cells]() }
	}
	if of.Users == nil {
		of.Users = func(context.Context, []int64) (accounts, error) { return nothing[accounts]() }
	}
	if of.Shops == nil {
		of.Shops = func(context.Context, []int64) map[int64]string { return nil }
	}
	if of.SearchShops == nil {
		of.SearchShops = func(context.Context, voucher.ShopSearch) (found []voucher.FoundShop, more bool, err error) {
			return nil, false, nil
		}
	}
	if of.Find == nil {
		of.Find = func(context.Context, string) (int64, error) { return 0, nil }
	}
	return of
}

func nothing[T any]() (none T, err error) { return none, nil }

// Checks returns the lines of all members for the checklist of a sale, in the order of their names.
func (m Members) Checks(ctx context.Context, voucherID int64, changed time.Time) (lines []check.Line) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if of := m[name]; of.Check != nil {
			lines = append(lines, of.Check(ctx, voucherID, changed))
		}
	}
	return lines
}

// Authors returns the accounts of the authors of entries in the audit trail, by user id.
func (m Members) Authors(ctx context.Context, entries []voucher.Entry) (map[int64]voucher.Account, error) {
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.By.AdminID
	}
	return m.Of("account").Users(ctx, ids)
}

// ShopNames returns the names of the shops to which the items belong; see Member.Shops.
func ShopNames[T any](ctx context.Context, m Members, items []T, shopOf func(T) int64) map[int64]string {
	ids := make([]int64, 0, len(items))
	for _, item := range items {
		if id := shopOf(item); id != 0 && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return m.Of("shop").Shops(ctx, ids)
}

// Has reports whether a feature has the member.
func (m Members) Has(name string) bool {
	_, has := m[name]
	return has
}
