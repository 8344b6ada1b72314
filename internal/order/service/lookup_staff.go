package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/internal/order"
)

// searchTimeout is how long the search for the user of a queued order may take: it reads a whole stream.
const searchTimeout = 3 * time.Second

// anybodys is Order for staff, who do not know the user. It searches for the order only if it has no row.
func (l *Lookup) anybodys(ctx context.Context, orderID int64) (order.Order, error) {
	o, err := l.reader.order(ctx, orderID)
	if !errors.Is(err, order.ErrNotFound) {
		return o, err
	}
	searching, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	partitions, err := l.selling(searching)
	if err != nil {
		return order.Order{}, order.OrUnavailable(err)
	}
	found, all, err := together(searching, partitions,
		func(ctx context.Context, partition int) ([]order.Order, bool, error) {
			userID, err := l.stores.Holdings.UserOf(ctx, partition, orderID)
			if userID == 0 {
				return nil, err == nil, err
			}
			return []order.Order{{ID: orderID, UserID: userID}}, true, nil
		})
	if len(found) > 0 {
		return l.Order(ctx, found[0].UserID, orderID)
	}
	o, errRow := l.reader.order(ctx, orderID) // it may have got its row meanwhile
	if errors.Is(errRow, order.ErrNotFound) && (err != nil || !all) {
		return order.Order{}, fmt.Errorf("%w: order %d may wait in a partition that does not answer: %w",
			order.ErrUnavailable, orderID, cmp.Or(err, context.DeadlineExceeded))
	}
	return o, errRow
}

// selling returns the partitions of all sales that Redis must hold, also of those that the catalog does not know yet.
func (l *Lookup) selling(ctx context.Context) ([]int, error) {
	kept, keeps := l.catalog.Kept()
	newest, err := l.newSales.Do(ctx, max(0, l.catalog.Newest()-lateIDs))
	if err != nil {
		return nil, err
	}
	created, err := l.created(ctx, slices.DeleteFunc(slices.Clone(newest), keeps)) // callers share newest
	if err != nil {
		return nil, err
	}
	partitions := slices.Clone(kept)
	for _, v := range created {
		if !slices.Contains(partitions, v.Sale.Partition) {
			partitions = append(partitions, v.Sale.Partition)
		}
	}
	return partitions, nil
}
