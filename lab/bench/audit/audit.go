// Package audit compares the stores after a measurement with the answers that the load generator counted. Rows, stock
// in SQL, stock in Redis and answers must add up, and every order must be another user's: speed without that is worth
// nothing.
package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"seckill/lab/rig"
)

// Check audits one design after its process has ended: it compares the stores with the accepted purchases, and returns
// what does not add up.
type Check func(ctx context.Context, at *rig.Namespace, server *rig.Server, accepted int64) error

// Equal returns an error that names the pairs whose numbers differ.
func Equal(pairs map[string][2]int64) (err error) {
	for what, pair := range pairs {
		if pair[0] != pair[1] {
			err = errors.Join(err, fmt.Errorf("the counts do not add up: %s: %d is not %d", what, pair[0], pair[1]))
		}
	}
	return err
}

// counts are the numbers to compare with the rows.
type counts struct {
	accepted int64 // accepted answers, as the load generator counted them
	waiting  int64 // accepted orders that are not recorded
	also     map[string][2]int64
}

// balance compares all numbers that must be equal and returns all differences.
func balance(ctx context.Context, at *rig.Namespace, c counts) error {
	rows, err := at.Number(ctx, "SELECT COUNT(*) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	users, err := at.Number(ctx, "SELECT COUNT(DISTINCT user_id, voucher_id) FROM tb_voucher_order")
	if err != nil {
		return err
	}
	stock, err := at.Number(ctx, "SELECT SUM(stock) FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	issued, err := at.Number(ctx, "SELECT SUM(issued) FROM tb_seckill_voucher")
	if err != nil {
		return err
	}
	pairs := map[string][2]int64{
		"rows and waiting orders are the accepted":   {rows + c.waiting, c.accepted},
		"every row is another user's":                {users, rows},
		"stock and rows in SQL are the units issued": {stock + rows, issued},
	}
	maps.Copy(pairs, c.also)
	return Equal(pairs)
}
