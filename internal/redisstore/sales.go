package redisstore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/voucher"
)

const (
	maxViews  = 250 // sales read by one call of scripts/views.lua
	rangePage = 500 // stream entries read at once
	// longestScan is how many entries of a stream Inventory and Drop search at most.
	longestScan = 1000
)

// Views returns the state of each sale, in the order asked. Sales of one partition are read in one round trip (250 at
// a time) and at one moment.
func (s *Store) Views(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error) {
	views := make([]order.SaleView, len(sales))
	for _, indexes := range byPartition(sales) {
		for len(indexes) > 0 {
			n := min(len(indexes), maxViews)
			if err := s.viewSome(ctx, sales, indexes[:n], views); err != nil {
				return nil, fmt.Errorf("reading %d sales: %w", n, err)
			}
			indexes = indexes[n:]
		}
	}
	return views, nil
}

// byPartition groups the indexes of sales by partition.
func byPartition(sales []order.SaleRef) map[int][]int {
	groups := make(map[int][]int, 1)
	for i, sale := range sales {
		groups[sale.Partition] = append(groups[sale.Partition], i)
	}
	return groups
}

// viewSome reads the sales at the given indexes, all of one partition, into views.
func (s *Store) viewSome(ctx context.Context, sales []order.SaleRef, indexes []int, views []order.SaleView) error {
	keys := make([]string, 0, 2*len(indexes))
	for _, i := range indexes {
		keys = append(keys, s.keys.sale(sales[i]), s.keys.buyers(sales[i]))
	}
	raw, err := s.scripts.views.run(ctx, s.commands, keys)
	if err != nil {
		return err
	}
	r := newReply(raw)
	now := r.time()
	for _, i := range indexes {
		views[i] = r.view()
		views[i].Applied = r.number()
		views[i].Now = now
	}
	return r.err
}

// Live returns what buyers see of each sale, in the order asked, and the time by Redis's clock. All vouchers must have
// a sale.
func (s *Store) Live(ctx context.Context, vs []voucher.Voucher) ([]voucher.Live, time.Time, error) {
	if len(vs) == 0 {
		now, err := s.commands.Time(ctx).Result()
		return nil, now.UTC(), translate(err)
	}
	sales := make([]order.SaleRef, len(vs))
	for i, v := range vs {
		if v.Sale == nil {
			return nil, time.Time{}, fmt.Errorf("voucher %d: %w", v.ID, voucher.ErrNotSeckill)
		}
		sales[i] = order.SaleRef{VoucherID: v.ID, Partition: v.Sale.Partition}
	}
	views, err := s.Views(ctx, sales)
	if err != nil {
		return nil, time.Time{}, err
	}
	live := make([]voucher.Live, len(vs))
	for i, view := range views {
		live[i] = voucher.Live{State: stateOf(view, vs[i].Status), Stock: view.Stock}
	}
	return live, views[0].Now, nil
}

// stateOf decides what a buyer can expect, in the order of the states' constants. The shelf counts as soon as either
// the ledger or Redis says that the voucher is off it.
func stateOf(view order.SaleView, shelf voucher.Status) voucher.SaleState {
	switch {
	case view.Mode == order.SaleMissing, view.Mode == order.SaleRebuilding && view.Mark.Epoch == 0:
		return voucher.StatePreparing // not there, or being put there for the first time
	case view.Mode == order.SaleOffShelf, shelf == voucher.OffShelf:
		return voucher.StateOffShelf
	case view.Mode != order.SaleOpen:
		return voucher.StatePaused
	case view.Now.Before(view.Begin):
		return voucher.StateNotStarted
	case !view.Now.Before(view.End):
		return voucher.StateEnded
	case view.Stock <= 0:
		return voucher.StateSoldOut
	default:
		return voucher.StateOnSale
	}
}

// Waiting yields the claims of a sale that are in its partition's stream, delivered or not, oldest first. Entries that
// cannot be decoded are left out: they become dead letters. It stops after the first error.
func (s *Store) Waiting(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		from := "-"
		for {
			page, err := s.commands.XRangeN(ctx, s.keys.orders(sale.Partition), from, "+", rangePage).Result()
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading the stream: %w", translate(err)))
				return
			}
			for _, message := range page {
				entry := decode(sale.Partition, message)
				if entry.Malformed != nil || entry.Claim.VoucherID != sale.VoucherID {
					continue
				}
				if !yield(entry.Claim, nil) {
					return
				}
			}
			if len(page) < rangePage {
				return
			}
			from = "(" + page[len(page)-1].ID
		}
	}
}

// Inventory counts what Redis has of the sale, at one moment. It searches the stream for the sale's entries; in a stream
// longer than longestScan they are not counted: Inventory.Waiting is audit.NotCounted.
func (s *Store) Inventory(ctx context.Context, sale order.SaleRef) (audit.Inventory, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition), s.keys.dead(sale.Partition)}
	raw, err := s.scripts.inventory.run(ctx, s.commands, keys, sale.VoucherID, longestScan)
	if err != nil {
		return audit.Inventory{}, fmt.Errorf("counting the sale of voucher %d: %w", sale.VoucherID, err)
	}
	r := newReply(raw)
	inventory := audit.Inventory{Mode: modeOf(r.text())}
	inventory.Mark = order.Mark{Epoch: r.number(), Sequence: r.number()}
	inventory.Stock, inventory.Holders, inventory.Applied = r.number(), r.number(), r.number()
	inventory.Waiting, inventory.DeadLetters = r.number(), r.number()
	return inventory, r.err
}

// Drop deletes the sale and its holders if it is over, unchanged since view, and no entry of it is in the stream, and
// reports whether they are gone. A stream longer than longestScan keeps the sale: there is no hurry.
func (s *Store) Drop(ctx context.Context, sale order.SaleRef, view order.SaleView) (bool, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition)}
	gone, err := s.scripts.drop.runInt(ctx, s.commands, keys,
		sale.VoucherID, view.Mark.Epoch, view.Mark.Sequence, view.Applied, longestScan)
	return gone == 1, err
}
