package redisstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/voucher"
)

const (
	maxViews  = 250 // sales read by one call of scripts/views.lua
	rangePage = 500 // stream entries read at once
	// liveWait is how long each partition has to return its sales' state when sales of several are read.
	liveWait = time.Second
	// longestScan is how many entries of a stream Inventory and Drop search at most.
	longestScan = 1000
	scannedKeys = 1000 // keys that one SCAN looks at
)

// Views returns the state of each sale, in the given order. Sales of one partition are read in one round trip (250 at a
// time) and at one moment. A sale whose keys hold something else reads as order.SaleMissing, and affects no other.
func (s *Store) Views(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, error) {
	views := make([]order.SaleView, len(sales))
	for _, part := range viewParts(sales) {
		raw, err := s.scripts.views.Run(ctx, s.in(sales[part[0]].Partition), s.viewKeys(sales, part))
		if err == nil {
			err = readViews(raw, part, views)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %d sales: %w", len(part), err)
		}
	}
	return views, nil
}

// viewParts groups the indexes of sales into calls of scripts/views.lua: one partition and at most maxViews sales each.
func viewParts(sales []order.SaleRef) (parts [][]int) {
	groups := make(map[int][]int, 1)
	for i, sale := range sales {
		groups[sale.Partition] = append(groups[sale.Partition], i)
	}
	for _, indexes := range groups {
		parts = slices.AppendSeq(parts, slices.Chunk(indexes, maxViews))
	}
	return parts
}

// askable returns the viewParts of partitions that may be read. In views it sets sales in partitions with other data to
// paused.
func (s *Store) askable(sales []order.SaleRef, views []order.SaleView) [][]int {
	return slices.DeleteFunc(viewParts(sales), func(part []int) bool {
		if s.formats.in(sales[part[0]].Partition) == nil {
			return false
		}
		for _, i := range part {
			views[i] = pausedView()
		}
		return true
	})
}

// viewKeys returns KEYS of scripts/views.lua for the sales at the given indexes.
func (s *Store) viewKeys(sales []order.SaleRef, part []int) []string {
	keys := make([]string, 0, 2*len(part))
	for _, i := range part {
		keys = append(keys, s.keys.sale(sales[i]), s.keys.buyers(sales[i]))
	}
	return keys
}

// readViews reads the answer of scripts/views.lua about the sales at the given indexes into views.
func readViews(raw any, part []int, views []order.SaleView) error {
	r := rediskit.NewReply(raw)
	now := r.Time()
	for _, i := range part {
		views[i] = viewOf(r)
		views[i].Applied, views[i].Building, views[i].Extra = r.Number(), r.Number(), r.Number()
		setIdentity(&views[i], r.Text(), r.Text())
		views[i].Now = now
	}
	return r.Err
}

// Live returns what buyers see of each sale, in the given order, and the time by Redis's clock. There must be at least
// one voucher, and each must have a sale. Partitions are read at the same time, each for liveWait at most: sales in one
// that does not answer are Stale. Live fails if none answers. Sales in a partition with other data are paused.
func (s *Store) Live(ctx context.Context, vs []voucher.Voucher) ([]voucher.Live, time.Time, error) {
	sales, err := salesOf(vs)
	if err != nil {
		return nil, time.Time{}, err
	}
	views, unread, err := s.viewsOfAll(ctx, sales)
	if err != nil {
		return nil, time.Time{}, err
	}
	live, now := liveOf(vs, views), time.Time{}
	for i, sale := range sales {
		if unread[sale.Partition] {
			live[i] = voucher.Live{State: voucher.StatePreparing, Stale: true}
		} else {
			now = views[i].Now
		}
	}
	return live, now, nil
}

// viewsOfAll is Views for several partitions, read at the same time. It returns which of them could not be read, or an
// error if none could.
func (s *Store) viewsOfAll(ctx context.Context, sales []order.SaleRef) ([]order.SaleView, map[int]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	var (
		mu      sync.Mutex
		reading sync.WaitGroup
		failed  []error
		unread  = map[int]bool{}
		views   = make([]order.SaleView, len(sales))
		parts   = s.askable(sales, views)
	)
	for _, part := range parts {
		reading.Go(func() {
			raw, err := s.scripts.views.Run(ctx, s.in(sales[part[0]].Partition), s.viewKeys(sales, part))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = readViews(raw, part, views)
			}
			if err != nil {
				unread[sales[part[0]].Partition], failed = true, append(failed, err)
			}
		})
	}
	if reading.Wait(); len(failed) > 0 && len(failed) == len(parts) {
		return nil, nil, fmt.Errorf("reading %d sales: %w", len(sales), errors.Join(failed...))
	}
	return views, unread, nil
}

func salesOf(vs []voucher.Voucher) ([]order.SaleRef, error) {
	sales := make([]order.SaleRef, 0, len(vs))
	for _, v := range vs {
		if v.Sale == nil {
			return nil, fmt.Errorf("voucher %d: %w", v.ID, voucher.ErrNotSeckill)
		}
		sales = append(sales, order.SaleOf(v))
	}
	return sales, nil
}

// liveOf returns what buyers see of the vouchers' sales. A sale that Redis does not hold counts as ended if its window
// has ended: it was retired after the voucher was read, or will be rebuilt as ended.
func liveOf(vs []voucher.Voucher, views []order.SaleView) []voucher.Live {
	all := make([]voucher.Live, len(vs))
	for i, v := range vs {
		view, live := views[i], &all[i]
		live.State, live.Stock = stateOf(view, v.Status), view.Stock
		// Epoch 0: Redis does not hold the sale, it was never open there, or its partition has other data.
		live.Missing = view.Mark.Epoch == 0 || view.Mode == order.SaleRebuilding || view.Mode == order.SaleMissing
		if live.State == voucher.StatePreparing && !view.Now.Before(v.Sale.End) && !v.Sale.End.IsZero() {
			live.State, live.Stock = v.Sale.OverState(), v.Sale.Stock
		}
	}
	return all
}

// stateOf decides what buyers can expect, in the order of the states' constants. The voucher is off the shelf if either
// the ledger or Redis says so.
func stateOf(view order.SaleView, shelf voucher.Status) voucher.SaleState {
	switch {
	case view.Mode == order.SaleMissing, view.Mode == order.SaleRebuilding && view.Mark.Epoch == 0:
		return voucher.StatePreparing // the sale is missing, or is being opened for the first time
	case view.Mode == order.SaleCalledOff:
		return voucher.StateCalledOff
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

// Waiting implements recovery.SaleReader. It skips entries that cannot be decoded: they become dead letters. It stops
// after the first error.
func (s *Store) Waiting(ctx context.Context, sale order.SaleRef) iter.Seq2[order.Claim, error] {
	return func(yield func(order.Claim, error) bool) {
		from := "-"
		for {
			page, err := s.in(sale.Partition).XRangeN(ctx, s.keys.orders(sale.Partition), from, "+", rangePage).Result()
			if err != nil {
				yield(order.Claim{}, fmt.Errorf("reading the stream: %w", rediskit.Translate(err)))
				return
			}
			for _, message := range page {
				for _, entry := range appendEntry(nil, sale.Partition, message) {
					if entry.Malformed == nil && entry.Claim.VoucherID == sale.VoucherID && !yield(entry.Claim, nil) {
						return
					}
				}
			}
			if len(page) < rangePage {
				return
			}
			from = "(" + page[len(page)-1].ID
		}
	}
}

// Inventory counts the sale in Redis at one moment. It searches the stream for the sale's entries; in a stream longer
// than longestScan it does not count them, and Inventory.Waiting is audit.NotCounted.
func (s *Store) Inventory(ctx context.Context, sale order.SaleRef) (audit.Inventory, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition), s.keys.dead(sale.Partition)}
	raw, err := s.scripts.inventory.Run(ctx, s.in(sale.Partition), keys, &sale.VoucherID, longestScan)
	if err != nil {
		return audit.Inventory{}, fmt.Errorf("counting the sale of voucher %d: %w", sale.VoucherID, err)
	}
	r := rediskit.NewReply(raw)
	inventory := audit.Inventory{Mode: modeOf(r.Text())}
	inventory.Mark = order.Mark{Epoch: r.Number(), Sequence: r.Number()}
	inventory.Stock, inventory.Holders, inventory.Applied = r.Number(), r.Number(), r.Number()
	inventory.Waiting, inventory.DeadLetters, inventory.Extra = r.Number(), r.Number(), r.Number()
	return inventory, r.Err
}

// Drop implements recovery.SaleBuilder. It keeps the sale if the stream is longer than longestScan: there is no hurry.
func (s *Store) Drop(ctx context.Context, sale order.SaleRef, view order.SaleView) (bool, error) {
	keys := []string{s.keys.sale(sale), s.keys.buyers(sale), s.keys.orders(sale.Partition)}
	gone, err := s.scripts.drop.RunInt(ctx, s.in(sale.Partition), keys,
		&sale.VoucherID, view.Mark.Epoch, view.Mark.Sequence, view.Applied, longestScan)
	return gone == 1, err
}

// SaleKeys returns the keys of a sale and of its holders, to show to people.
func (s *Store) SaleKeys(sale order.SaleRef) []string {
	return []string{s.keys.sale(sale), s.keys.buyers(sale)}
}

// SalesIn returns the ids of the vouchers that have a sale or holders in a partition, ascending. It scans all keys of
// the partition's server, a page at a time, so it is for operators.
func (s *Store) SalesIn(ctx context.Context, partition int) ([]int64, error) {
	if err := s.OtherData(partition); err != nil {
		return nil, err
	}
	node, err := s.nodeOf(ctx, partition)
	if err != nil {
		return nil, err
	}
	found := map[int64]bool{}
	for _, kind := range []string{":sale:", ":buyers:"} {
		tag := keys{}.partition(partition) + kind // without the prefix, which may have characters that match others
		all := node.Scan(ctx, 0, "*"+tag+"*", scannedKeys).Iterator()
		for all.Next(ctx) {
			if rest, ours := strings.CutPrefix(all.Val(), s.keys.prefix+tag); ours && identifier(rest) != 0 {
				found[identifier(rest)] = true
			}
		}
		if err := all.Err(); err != nil {
			return nil, fmt.Errorf("looking for the sales of partition %d: %w", partition, rediskit.Translate(err))
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
