package installation

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
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// partitionSetting is the prefix of the settings with the partitions' states; the number follows. Partition 0 has none
// until it is closed for the first time, so that a service with one partition has no row.
const partitionSetting = "partition_"

func partitionName(number int) string { return partitionSetting + strconv.Itoa(number) }

// Partitions is a partition.Lister.
func (t *Tables) Partitions(ctx context.Context) ([]partition.Partition, error) {
	all, err := partitions(t.db.Read(ctx))
	return all, sqlkit.ReadError("reading the partitions", err)
}

func partitions(db *gorm.DB) ([]partition.Partition, error) {
	names := make([]string, partition.Max)
	for n := range names {
		names[n] = partitionName(n)
	}
	var rows []sqlkit.SettingRow
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

// AddPartitions adds the partitions from 0 to n - 1 that have never existed, and returns them. Closed and removed ones
// have existed.
func (t *Tables) AddPartitions(ctx context.Context, n int) (added []int, err error) {
	all, err := t.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	for _, number := range partition.Missing(all, n) {
		switch err := t.addPartition(ctx, number); {
		case sqlkit.IsDuplicate(err): // another instance has added it
		case err != nil:
			return added, sqlkit.ReadError(fmt.Sprintf("adding partition %d", number), err)
		default:
			added = append(added, number)
		}
	}
	return added, nil
}

func (t *Tables) addPartition(ctx context.Context, number int) error {
	return t.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Create(
			&sqlkit.SettingRow{Name: partitionName(number), Value: []byte(partition.Open), CreateTime: now}).Error
	})
}

// ChangePartition implements partition.AdminLedger. Times are the ledger's. It locks the rows of all partitions:
// changes come one after the other, and none while a voucher is created in one of them (LockPartition).
func (t *Tables) ChangePartition(ctx context.Context, number int, from, to partition.State) error {
	err := t.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		if _, err := partitions(sqlkit.Locking(tx)); err != nil {
			return err
		}
		all, err := partitions(tx) // again: the row of partition 0 may have come while those of others were waited for
		if err != nil {
			return err
		}
		known, err := mayChange(tx, all, number, from, to)
		switch {
		case err != nil:
			return err
		case known.Since.IsZero(): // partition 0, which has no row yet
			return tx.Create(&sqlkit.SettingRow{Name: partitionName(number), Value: []byte(to), CreateTime: now}).Error
		}
		return tx.Model(&sqlkit.SettingRow{}).Where("name = ?", partitionName(number)).
			Updates(map[string]any{"value": []byte(to), "create_time": now}).Error
	})
	switch {
	case sqlkit.IsDuplicate(err):
		return fmt.Errorf("%w: partition %d was changed at the same time", partition.ErrState, number)
	case errors.Is(err, partition.ErrUnknown), errors.Is(err, partition.ErrState),
		errors.Is(err, partition.ErrNotEmpty):
		return err
	case err != nil:
		return fmt.Errorf("changing partition %d: %w", number, err)
	default:
		return nil
	}
}

// mayChange returns the partition as it is, if it may be changed.
func mayChange(
	tx *gorm.DB, all []partition.Partition, number int, from, to partition.State,
) (partition.Partition, error) {
	var known partition.Partition
	i := slices.IndexFunc(all, func(p partition.Partition) bool { return p.Number == number })
	if i < 0 {
		return known, fmt.Errorf("%w: %d", partition.ErrUnknown, number)
	}
	known = all[i]
	otherOpen := slices.ContainsFunc(all,
		func(p partition.Partition) bool { return p.Number != number && p.State == partition.Open })
	switch {
	case known.State != from:
		return known, fmt.Errorf("%w: partition %d is %s", partition.ErrState, number, known.State)
	case to == partition.Closed && !otherOpen:
		return known, fmt.Errorf("%w: partition %d is the only one that is open, and no sale could be created",
			partition.ErrState, number)
	case to != partition.Removed:
		return known, nil
	}
	sales, err := salesIn(tx)
	if err == nil && sales[number] > 0 {
		err = fmt.Errorf("%w: partition %d has %d sales that are not retired",
			partition.ErrNotEmpty, number, sales[number])
	}
	return known, err
}

// LockPartition keeps a partition open until the transaction in which a voucher is created there ends. It returns
// voucher.ErrNoPartition if the partition was closed since the voucher was placed, which may be long ago. Partition 0
// has no row to lock until it is first closed. A voucher may be created there at that moment, which is harmless,
// because the partition stays.
func LockPartition(tx *gorm.DB, number int) error {
	var row sqlkit.SettingRow
	switch err := sqlkit.Locking(tx).Where("name = ?", partitionName(number)).Take(&row).Error; {
	case errors.Is(err, gorm.ErrRecordNotFound) && number == 0:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return fmt.Errorf("%w: there is no partition %d", voucher.ErrNoPartition, number)
	case err != nil:
		return fmt.Errorf("locking partition %d: %w", number, err)
	case partition.State(row.Value) != partition.Open:
		return fmt.Errorf("%w: partition %d is %s by now", voucher.ErrNoPartition, number, row.Value)
	}
	return nil
}

// SalesIn returns how many sales that are not retired each partition has; a partition without any is not in the map.
func (t *Tables) SalesIn(ctx context.Context) (map[int]int, error) {
	sales, err := salesIn(t.db.Read(ctx))
	return sales, sqlkit.ReadError("counting the sales of partitions", err)
}

func salesIn(db *gorm.DB) (map[int]int, error) {
	var rows []struct {
		PartitionNo int
		Sales       int
	}
	err := db.Table("tb_seckill_voucher").Select("partition_no, COUNT(*) AS sales").Where("retired = ?", false).
		Group("partition_no").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	sales := make(map[int]int, len(rows))
	for _, row := range rows {
		sales[row.PartitionNo] = row.Sales
	}
	return sales, nil
}
