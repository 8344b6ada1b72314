package redisstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"seckill/internal/order"
	"seckill/internal/redisstore/rediskit"
)

// scannedKeys is how many keys one SCAN looks at.
const scannedKeys = 1000

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
