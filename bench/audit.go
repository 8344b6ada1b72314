package main

import (
	"context"
	"errors"
	"fmt"
)

// books are what a turn left behind, besides the rows.
type books struct {
	accepted   int64 // answers that accepted, as the load generator counted them
	redisStock int64
	waiting    int64 // accepted and not recorded
	also       map[string][2]int64
}

// balance compares everything that has to be equal and returns all that is not.
func balance(ctx context.Context, at *place, b books) error {
	rows, err := at.number(ctx, "SELECT COUNT(*) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	users, err := at.number(ctx, "SELECT COUNT(DISTINCT user_id) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	stock, err := at.number(ctx, "SELECT stock FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	equal := map[string][2]int64{
		"rows and waiting orders are the accepted":      {rows + b.waiting, b.accepted},
		"every row is another user's":                   {users, rows},
		"stock and rows in SQL are the units issued":    {stock + rows, issued},
		"stock in Redis and accepted are the units too": {b.redisStock + b.accepted, issued},
	}
	for what, pair := range b.also {
		equal[what] = pair
	}
	for what, pair := range equal {
		if pair[0] != pair[1] {
			err = errors.Join(err, fmt.Errorf("the books do not balance: %s: %d is not %d", what, pair[0], pair[1]))
		}
	}
	return err
}
