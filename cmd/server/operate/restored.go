package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// remains is a sale that Redis has and the database does not have, or has retired.
type remains struct {
	sale    order.SaleRef
	orders  []order.Claim // its holders'
	keys    []string
	retired bool // the database has retired it; else the database has no such sale, or another one under its id
}

// remaining returns the sales in Redis that the database does not know: the database or Redis was restored from a
// backup.
func remaining(ctx context.Context, w *wiring.Tool) ([]remains, error) {
	partitions, err := w.Stores.Ledger.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	var found []remains
	for _, p := range partitions {
		ids, err := w.Stores.Redis.SalesIn(ctx, p.Number)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			r := remains{sale: order.SaleRef{VoucherID: id, Partition: p.Number}}
			r.keys = w.Stores.Redis.SaleKeys(r.sale)
			known, err := knows(ctx, w, &r)
			if err != nil {
				return nil, err
			}
			if known {
				continue
			}
			for claim, err := range w.Stores.Redis.Holders(ctx, r.sale) {
				if _, unreadable := errors.AsType[*order.UnreadableHolderError](err); unreadable {
					continue
				}
				if err != nil {
					return nil, err
				}
				r.orders = append(r.orders, claim)
			}
			found = append(found, r)
		}
	}
	return found, nil
}

// knows reports whether the database has the sale and has not retired it, and sets r.retired.
func knows(ctx context.Context, w *wiring.Tool, r *remains) (bool, error) {
	v, err := w.Stores.Ledger.Vouchers.Voucher(ctx, r.sale.VoucherID)
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case v.Sale == nil, v.Sale.Partition != r.sale.Partition, v.Sale.Epoch == 0:
		return false, nil
	}
	r.retired = v.Sale.Retired
	return !v.Sale.Retired, nil
}

// text is about the sale, and with named about its orders.
func (r remains) text(named bool) string {
	says := fmt.Sprintf("with %d orders, and the database has no such sale: they are gone", len(r.orders))
	if r.retired {
		says = "which is over for good in the database: an older Redis was restored"
	}
	text := fmt.Sprintf("voucher %d: Redis has its sale, %s; keys that nobody needs: %s\n",
		r.sale.VoucherID, says, strings.Join(r.keys, " "))
	if named && !r.retired {
		text += ordersText(r.orders, "it is gone")
	}
	return text
}

// printLost prints both sides of each lost decision, of one sale or of all for id 0.
func printLost(ctx context.Context, w *wiring.Tool, out io.Writer, id int64) error {
	lost, err := w.Stores.Ledger.Sales.LostDecisions(ctx, id)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, l := range lost {
		fmt.Fprintf(&text, "voucher %d: the database has lost a decision (%s) that Redis had applied; neither "+
			"side is taken, decide anew\n  Redis had     %s\n  the database  %s\n",
			l.VoucherID, cmp.Or(l.Kind, "not known"), side(l.Redis), side(l.Ledger))
	}
	_, err = io.WriteString(out, text.String())
	return err
}

func side(s voucher.SaleSide) string {
	return fmt.Sprintf("%s from %s to %s, %d units left, operation %d", cmp.Or(s.Mode, "mode not known"),
		s.Begin.Format(time.RFC3339Nano), s.End.Format(time.RFC3339Nano), s.Stock, s.Operation)
}

// printUntraced prints the orders that have a trace only in Redis.
func printUntraced(ctx context.Context, w *wiring.Tool, out io.Writer, id int64) error {
	v, err := w.Stores.Ledger.Vouchers.Voucher(ctx, id)
	if err != nil {
		return err
	}
	lost, err := w.Reconciler.Untraced(ctx, v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, ordersText(lost, "a rebuild records it anew, unpaid, while units are left"))
	return err
}

func ordersText(orders []order.Claim, becomes string) string {
	var text strings.Builder
	for _, c := range orders {
		fmt.Fprintf(&text, "voucher %d: the order %d of user %d is in Redis alone: %s\n",
			c.VoucherID, c.OrderID, c.UserID, becomes)
	}
	return text.String()
}
