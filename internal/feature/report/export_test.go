package report

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// manyOrders has so many orders of a voucher, of which every other one is paid.
type manyOrders int64

func (n manyOrders) after(_ context.Context, voucherID, after int64, limit int) ([]order.Order, error) {
	var page []order.Order
	for id := after + 1; id <= int64(n) && len(page) < limit; id++ {
		status := order.Unpaid
		if id%2 == 0 {
			status = order.Refunded
		}
		page = append(page, order.Order{ID: id, VoucherID: voucherID, Status: status})
	}
	return page, nil
}

func (n manyOrders) reports(coupons func(ids []int64, whole bool) (map[int64]map[string]string, error)) *Reports {
	return &Reports{
		core: Core{
			Find:   func(_ context.Context, id int64) (voucher.Voucher, error) { return voucher.Voucher{ID: id}, nil },
			Orders: n.after,
		},
		members: feature.Members{
			"coupon": {Orders: func(_ context.Context, ids []int64, whole bool) (map[int64]map[string]string, error) {
				return coupons(ids, whole)
			}},
		},
	}
}

// An export has every order once, page by page. Coupons are asked for once a page, and not for unpaid orders.
func TestExportPages(t *testing.T) {
	t.Parallel()
	for n, pages := range map[manyOrders]int{0: 1, 1: 1, exportPage: 2, 2*exportPage + 1: 3} {
		var asked []int64
		reports := n.reports(func(ids []int64, whole bool) (map[int64]map[string]string, error) {
			if !whole {
				t.Error("whole codes are asked for masked")
			}
			asked = append(asked, ids...)
			coupons := make(map[int64]map[string]string)
			for _, id := range ids {
				coupons[id] = map[string]string{"code": "x"}
			}
			return coupons, nil
		})
		var (
			ids   []int64
			calls int
		)
		err := reports.Orders(t.Context(), 5, true, func(page []ExportRow) error {
			calls++
			for _, row := range page {
				ids = append(ids, row.Order.ID)
				if want := row.Order.ID%2 == 0; (row.Coupon["code"] == "x") != want {
					t.Errorf("order %d has the coupon %+v", row.Order.ID, row.Coupon)
				}
			}
			return nil
		})
		if err != nil || calls != pages || len(ids) != int(n) || !slices.IsSorted(ids) || len(asked) != int(n)/2 {
			t.Errorf("%d orders: %d in %d pages, %d coupons asked for, %v", n, len(ids), calls, len(asked), err)
		}
	}
}

// An export whose coupons cannot be read has no order without its code.
func TestExportWithoutCoupons(t *testing.T) {
	t.Parallel()
	broken := errors.New("no connection")
	reports := manyOrders(7).reports(func([]int64, bool) (map[int64]map[string]string, error) { return nil, broken })
	err := reports.Orders(t.Context(), 5, false, func(page []ExportRow) error {
		t.Errorf("%d orders", len(page))
		return nil
	})
	if !errors.Is(err, broken) || !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		order order.Order
		want  bool
	}{
		"at the deadline": {order.Order{Status: order.Cancelled, PayBefore: deadline, CancelledAt: deadline}, true},
		"before it": {
			order.Order{Status: order.Cancelled, PayBefore: deadline, CancelledAt: deadline.Add(-time.Millisecond)},
			false,
		},
		"without one": {order.Order{Status: order.Cancelled, CancelledAt: deadline}, false},
		"refunded":    {order.Order{Status: order.Refunded, PayBefore: deadline, CancelledAt: deadline}, false},
	} {
		if got := (ExportRow{Order: test.order}).Expired(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The audit trail has every entry once, newest first, page by page, and authors are asked for once a page.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	for n, pages := range map[int64]int{0: 1, 1: 1, exportPage: 2, 2*exportPage + 1: 3} {
		asked, calls, next := 0, 0, n
		reports := &Reports{
			core: Core{Entries: func(
				_ context.Context, f voucher.AuditFilter, before int64, limit int,
			) (page []voucher.Entry, err error) {
				if f.ShopID != 3 {
					t.Errorf("asked for %+v", f)
				}
				for id := min(n, before-1); id > 0 && len(page) < limit; id-- {
					page = append(page, voucher.Entry{ID: id, By: voucher.Author{AdminID: id % 2}})
				}
				return page, nil
			}},
			members: feature.Members{
				"account": {Users: func(_ context.Context, ids []int64) (map[int64]voucher.Account, error) {
					asked += len(ids)
					return map[int64]voucher.Account{1: {Issuer: "i", Subject: "s"}}, nil
				}},
			},
		}
		err := reports.Audit(t.Context(), voucher.AuditFilter{ShopID: 3}, func(page []AuditRow) error {
			calls++
			for _, row := range page {
				if row.Entry.ID != next || (row.Author.Subject == "s") != (next%2 == 1) {
					t.Fatalf("entry %+v, want %d", row, next)
				}
				next--
			}
			return nil
		})
		if err != nil || calls != pages || next != 0 || int64(asked) != n {
			t.Errorf("%d entries: %d pages, %d left, %d authors, %v", n, calls, next, asked, err)
		}
	}
	failing := &Reports{core: Core{
		Entries: func(context.Context, voucher.AuditFilter, int64, int) ([]voucher.Entry, error) {
			return nil, errors.New("away")
		},
	}}
	err := failing.Audit(t.Context(), voucher.AuditFilter{}, func([]AuditRow) error { return nil })
	if !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("the ledger is away: %v", err)
	}
}
