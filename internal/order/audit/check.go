package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// All returns the balance of every sale that Redis must hold.
func (a *Auditor) All(ctx context.Context) ([]Balance, error) {
	vs, err := a.stores.Sales.SalesToKeep(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the sales from the ledger: %w", order.ErrUnavailable, err)
	}
	balances := make([]Balance, 0, len(vs))
	for _, v := range vs {
		b, err := a.Check(ctx, v.ID)
		switch {
		case errors.Is(err, voucher.ErrNotSeckill): // retired meanwhile
			continue
		case err != nil:
			return nil, err
		}
		balances = append(balances, b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.balances)
	for _, b := range balances {
		a.note(b)
	}
	return balances, nil
}

// Balance returns the balance of one sale, on any instance. Without a known balance, or if it is some seconds old
// (balanceTTL), Balance checks the sale; callers that come during this check get the known balance, if any. Errors:
// voucher.ErrNotFound, order.ErrUnavailable, and voucher.ErrNotSeckill, also for a seckill sale that Redis no longer
// holds.
func (a *Auditor) Balance(ctx context.Context, sale int64) (Balance, error) {
	a.mu.Lock()
	known, has := a.balances[sale]
	if has && (a.comparing[sale] || time.Since(known.At) < balanceTTL) {
		a.mu.Unlock()
		return known, nil // checking a large sale takes a second; callers get the previous balance meanwhile
	}
	a.comparing[sale] = true
	a.mu.Unlock()
	b, err := a.Check(ctx, sale)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.comparing, sale)
	if err != nil {
		return Balance{}, err
	}
	a.note(b)
	return b, nil
}

// note remembers a balance, unless a newer one is known. The caller holds a.mu.
func (a *Auditor) note(b Balance) {
	if !a.balances[b.VoucherID].At.After(b.At) {
		a.balances[b.VoucherID] = b
	}
}

// Check reads one sale and returns its balance. While the stores cannot be compared it reads again, a few times. Its
// errors are those of Balance.
func (a *Auditor) Check(ctx context.Context, sale int64) (Balance, error) {
	return a.readUpTo(ctx, sale, maxReads, readAgain)
}

// readUpTo reads one sale, up to the given number of times, until it has not changed during a read.
func (a *Auditor) readUpTo(ctx context.Context, sale int64, reads int, pause time.Duration) (Balance, error) {
	for try := 1; ; try++ {
		b, err := a.read(ctx, sale)
		if err != nil || b.Finding != Undecided && b.Complete || b.Finding.Broken() || try == reads || b.hopeless() {
			return b, err
		}
		retry.Sleep(ctx, pause)
	}
}

// read reads one sale: the ledger, Redis, and the ledger again.
func (a *Auditor) read(ctx context.Context, sale int64) (Balance, error) {
	began := time.Now()
	v, err := a.stores.Vouchers.Voucher(ctx, sale)
	if err != nil {
		return Balance{}, order.OrUnavailable(err)
	}
	if v.Sale == nil || v.Sale.Retired {
		return Balance{}, voucher.ErrNotSeckill
	}
	before := LedgerTotals{
		Mark: order.Mark{Epoch: v.Sale.Epoch, Sequence: v.Sale.Sequence}, Operation: v.Sale.LastOperation,
		Stock: v.Sale.Stock,
	}
	redis, err := a.stores.Inventory(ctx, order.SaleOf(v))
	if err != nil {
		return Balance{}, order.OrUnavailable(err)
	}
	ledger, err := a.stores.Totals(ctx, sale, redis.Applied)
	switch {
	case errors.Is(err, voucher.ErrNotSeckill):
		return Balance{}, err
	case err != nil:
		return Balance{}, order.OrUnavailable(err)
	}
	return compare(sale, before, ledger, redis, began), nil
}
