package shop_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order"
	"seckill/internal/testkit/apitest"
	"seckill/internal/voucher"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	entries := []voucher.Entry{
		{
			ID: 9, At: noon, By: voucher.Author{AdminID: 7, Request: "r-9"}, Action: voucher.Restocked, VoucherID: 5,
			Changes: []voucher.FieldChange{}, Delta: -3, Outcome: voucher.StockRefused,
		},
		{
			ID: 8, At: noon, By: voucher.Author{}, Action: voucher.Created, VoucherID: 5,
			Changes: []voucher.FieldChange{{Field: "title", To: "券"}},
		},
	}
	const (
		ninth = `{"id":"9","at":"2026-01-02T12:00:00.000Z","adminId":7,"account":{"issuer":"https://login.example",` +
			`"subject":"ann"},"requestId":"r-9","action":"stock","voucherId":5,"title":"券",` +
			`"changes":[],"delta":-3,"outcome":"refused"}`
		eighth = `{"id":"8","at":"2026-01-02T12:00:00.000Z","adminId":0,"requestId":"","action":"create",` +
			`"voucherId":5,"title":"券",` +
			`"changes":[{"field":"title","from":"","to":"券"}]}`
	)
	var got voucher.AuditFilter
	a := newAPI(t, func(cfg *setup) {
		entriesOf := func(f voucher.AuditFilter, before int64, limit int) ([]voucher.Entry, error) {
			if got = f; before == 1 {
				return nil, order.ErrUnavailable
			}
			return entries[:min(limit, 2)], nil
		}
		cfg.Ledger = fakeLedger{OnEntries: entriesOf}
		cfg.Members["account"] = httpkit.Member{
			Users: func(_ context.Context, ids []int64) (map[int64]voucher.Account, error) {
				if ids[0] != 7 {
					t.Errorf("asked of %v", ids)
				}
				return map[int64]voucher.Account{7: {Issuer: "https://login.example", Subject: "ann"}}, nil
			},
		}
	})
	for query, want := range map[string]struct {
		filter voucher.AuditFilter
		body   string
	}{
		"": {
			voucher.AuditFilter{}, `{"success":true,"data":[` + ninth + `,` + eighth + `]}`,
		},
		"?voucherId=5&adminId=7&limit=1": {
			voucher.AuditFilter{VoucherID: 5, AdminID: 7}, `{"success":true,"data":[` + ninth + `],"next":"9"}`,
		},
	} {
		w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/audit" + query})
		if diff := cmp.Diff(want.body, w.Body.String()); diff != "" || w.Code != http.StatusOK || got != want.filter {
			t.Errorf("%q: %d, filter %+v\n%s", query, w.Code, got, diff)
		}
	}
	wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/audit?before=1"}),
		http.StatusServiceUnavailable, "UNAVAILABLE")
	wantProblem(t, asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/audit?adminId=x"}),
		http.StatusBadRequest, "INVALID")
}

// A merchant's export may name another shop's voucher, and its entry does not give away that one's title.
func TestAuditOfAMerchant(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(cfg *setup) {
		cfg.Ledger = fakeLedger{OnEntries: func(voucher.AuditFilter, int64, int) ([]voucher.Entry, error) {
			return []voucher.Entry{{ID: 9, At: noon, Action: voucher.Exported, VoucherID: 5}}, nil
		}}
	})
	for shop, titled := range map[int64]bool{
		seckillVoucher().ShopID: true, seckillVoucher().ShopID + 1: false, 0: true, // an admin
	} {
		audit := request{Method: http.MethodGet, Target: "/admin/audit"}
		w := asAdmin(t, a, audit)
		if shop != 0 {
			audit.Header = map[string]string{"Authorization": apitest.MerchantToken(t, shop)}
			w = do(t, a, audit)
		}
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"title"`) != titled {
			t.Errorf("for shop %d: %d %s", shop, w.Code, w.Body)
		}
	}
}

// Lists for staff name the vouchers, and once the ledger is away they ask it no more and have no titles.
func TestTitles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		titled int
		asked  int
	}{
		"read":               {nil, 2, 2},
		"the ledger is away": {order.ErrUnavailable, 0, 1},
		"no such voucher":    {voucher.ErrNotFound, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			a := newAPI(t, withOrders(fakeOrders{
				OnFind: func(order.Filter, int64, int) ([]order.Order, error) {
					return []order.Order{{ID: 9, VoucherID: 5}, {ID: 8, VoucherID: 6}}, nil
				},
			}), func(cfg *setup) {
				cfg.FindVoucher = func(context.Context, int64) (voucher.Voucher, error) {
					if asked++; c.err != nil {
						return voucher.Voucher{}, c.err
					}
					return voucher.Voucher{Title: "券"}, nil
				}
			})
			w := asAdmin(t, a, request{Method: http.MethodGet, Target: "/admin/order"})
			if n := strings.Count(w.Body.String(), `"title":"券"`); w.Code != http.StatusOK || n != c.titled {
				t.Errorf("%d, %d titles, want %d: %s", w.Code, n, c.titled, w.Body)
			}
			if asked != c.asked {
				t.Errorf("asked for %d vouchers, want %d", asked, c.asked)
			}
		})
	}
}
