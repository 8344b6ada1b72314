package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order/partition"
)

// partitionSetting begins the names of the partitions' states; the number follows. Partition 0 has none while it is open, so that a
// service with one partition has no row.
const partitionSetting = "partition_"

func partitionName(number int) string { return partitionSetting + strconv.Itoa(number) }

// Partitions implements partition.Ledger.
func (s *Store) Partitions(ctx context.Context) ([]partition.Partition, error) {
	all, err := partitions(s.read(ctx))
	if err != nil {
		return nil, readError("reading the partitions", err)
	}
	return all, nil
}

func partitions(db *gorm.DB) ([]partition.Partition, error) {
	names := make([]string, partition.Max)
	for n := range names {
		names[n] = partitionName(n)
	}
	var rows []settingRow
	if err := db.Where("name IN ?", names).Find(&rows).Error; err != nil {
		return nil, err
	}
	all := []partition.Partition{{Number: 0, State: partition.Open}}
	for _, row := range rows {
		n, err := strconv.Atoi(strings.TrimPrefix(row.Name, partitionSetting))
		p := partition.Partition{Number: n, State: partition.State(row.Value), Since: row.CreateTime.UTC()}
		switch known := []partition.State{partition.Open, partition.Closed, partition.Removed}; {
		case err != nil:
			return nil, fmt.Errorf("setting %s: %w", row.Name, err)
		case !slices.Contains(known, p.State):
			return nil, fmt.Errorf("setting %s is %q, allowed are open, closed and removed", row.Name, row.Value)
		case n == 0:
			all[0] = p
		default:
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b partition.Partition) int { return a.Number - b.Number })
	return all, nil
}

// AddPartitions adds those of the partitions 0 to n - 1 that never were, and returns which: not one that was closed or removed.
func (s *Store) AddPartitions(ctx context.Context, n int) (added []int, err error) {
	all, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	for number := 1; number < n; number++ {
		if slices.ContainsFunc(all, func(p partition.Partition) bool { return p.Number == number }) {
			continue
		}
		switch err := s.addPartition(ctx, number); {
		case isDuplicate(err): // another instance has added it
		case err != nil:
			return added, readError(fmt.Sprintf("adding partition %d", number), err)
		default:
			added = append(added, number)
		}
	}
	return added, nil
}

func (s *Store) addPartition(ctx context.Context, number int) error {
	return s.writeRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		return tx.Create(&settingRow{Name: partitionName(number), Value: []byte(partition.Open), CreateTime: now}).Error
	})
}

// ChangePartition implements partition.AdminLedger. Times are the ledger's.
func (s *Store) ChangePartition(ctx context.Context, number int, from, to partition.State, least time.Duration) error {
	err := s.writeRetry(ctx, func(tx *gorm.DB) error {
		now, err := s.ledgerTime(tx)
		if err != nil {
			return err
		}
		known, err := stateOf(tx, number)
		switch since := now.Sub(known.Since); {
		case err != nil:
			return err
		case known.State != from:
			return fmt.Errorf("%w: partition %d is %s", partition.ErrState, number, known.State)
		case since < least:
			return fmt.Errorf("%w: partition %d has been %s for %v, and %v must pass", partition.ErrState, number, from, since.Round(time.Second), least)
		case from == to:
			return nil
		case known.Since.IsZero(): // partition 0, which has no row yet
			return tx.Create(&settingRow{Name: partitionName(number), Value: []byte(to), CreateTime: now}).Error
		}
		set := tx.Model(&settingRow{}).Where("name = ? AND value = ?", partitionName(number), []byte(from)).
			Updates(map[string]any{"value": []byte(to), "create_time": now})
		if set.Error == nil && set.RowsAffected != 1 {
			return fmt.Errorf("%w: partition %d was changed at the same time", partition.ErrState, number)
		}
		return set.Error
	})
	switch {
	case isDuplicate(err):
		return fmt.Errorf("%w: partition %d was changed at the same time", partition.ErrState, number)
	case errors.Is(err, partition.ErrUnknown), errors.Is(err, partition.ErrState):
		return err
	case err != nil:
		return fmt.Errorf("changing partition %d: %w", number, err)
	default:
		return nil
	}
}

// stateOf returns one partition, or partition.ErrUnknown.
func stateOf(tx *gorm.DB, number int) (partition.Partition, error) {
	all, err := partitions(tx)
	if err != nil {
		return partition.Partition{}, err
	}
	i := slices.IndexFunc(all, func(p partition.Partition) bool { return p.Number == number })
	if i < 0 {
		return partition.Partition{}, fmt.Errorf("%w: %d", partition.ErrUnknown, number)
	}
	return all[i], nil
}

// SalesIn returns how many sales that are not retired each partition has; a partition without any is not in the map.
func (s *Store) SalesIn(ctx context.Context) (map[int]int, error) {
	var rows []struct {
		PartitionNo int
		Sales       int
	}
	err := s.read(ctx).Model(&saleRow{}).Select("partition_no, COUNT(*) AS sales").Where("retired = ?", false).
		Group("partition_no").Find(&rows).Error
	if err != nil {
		return nil, readError("counting the sales of partitions", err)
	}
	sales := make(map[int]int, len(rows))
	for _, row := range rows {
		sales[row.PartitionNo] = row.Sales
	}
	return sales, nil
}
