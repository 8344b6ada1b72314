package report

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// A report has what guards did. If the figures hang, it comes without them, soon, and says so.
func TestReportOfGuards(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"read": false, "hanging": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := Reports{members: feature.Members{
					"guards": {Sale: func(ctx context.Context, v voucher.Voucher) (any, error) {
						if hangs {
							<-ctx.Done()
						}
						return v.ID, ctx.Err()
					}},
				}}
				began := time.Now()
				got := r.member(t.Context(), "guards", guardsTimeout, voucher.Voucher{ID: 7, Sale: &voucher.Sale{}})
				if diff := cmp.Diff(Member{int64(7), hangs}, got); diff != "" ||
					time.Since(began) > guardsTimeout {
					t.Errorf("after %s (-want +got):\n%s", time.Since(began), diff)
				}
			})
		})
	}
}

// Features that are not there, and sales that do not use them, are not asked.
func TestReportWithoutMembers(t *testing.T) {
	t.Parallel()
	all := feature.Members{
		"guards": {Sale: func(context.Context, voucher.Voucher) (any, error) {
			return 1, order.ErrUnavailable
		}},
		"waitlist": {Sale: func(context.Context, voucher.Voucher) (any, error) {
			return 3, nil
		}},
		"coupon": {Orders: func(_ context.Context, ids []int64, _ bool) (map[int64]map[string]string, error) {
			return map[int64]map[string]string{ids[0]: {"code": "x"}}, nil
		}},
	}
	for _, test := range []struct {
		name    string
		members feature.Members
		voucher voucher.Voucher
		want    Member
		listed  any
	}{
		{"all", all, voucher.Voucher{Sale: &voucher.Sale{}}, Member{1, true}, 3},
		{"an ordinary voucher", all, voucher.Voucher{}, Member{}, 3},
		{"no features", feature.Members{}, voucher.Voucher{Sale: &voucher.Sale{}}, Member{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reports := Reports{members: test.members}
			list, err := reports.waitlist(t.Context(), test.voucher)
			if err != nil || list != test.listed {
				t.Errorf("the waiting list: %+v, %v", list, err)
			}
			got := reports.member(t.Context(), "guards", guardsTimeout, test.voucher)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("guards (-want +got):\n%s", diff)
			}
			coupons, err := reports.coupons(t.Context(), []int64{9}, false)
			if err != nil || (coupons[9]["code"] != "") != test.members.Has("coupon") {
				t.Errorf("coupons: %+v, %v", coupons, err)
			}
			if none, err := reports.coupons(t.Context(), nil, false); err != nil || none != nil {
				t.Errorf("the coupons of no orders: %+v, %v", none, err)
			}
		})
	}
}
