package audit

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"seckill/lab/rig"
)

// reportPatience is how long the report may lack answers: instances write their counts every five seconds.
const reportPatience = 30 * time.Second

// Report audits the report of the server's sale: its figures and the lines of its orders' file must match the given
// answers and the rows of the ledger.
func Report(ctx context.Context, at *rig.Namespace, server *rig.Server, buyers, units int64) error {
	figures, err := reportOf(ctx, server, buyers)
	if err != nil {
		return err
	}
	orders, err := table(ctx, server, "orders.csv")
	if err != nil {
		return err
	}
	column := map[string]int{}
	for i, name := range orders[0] {
		column[name] = i
	}
	var cents int64
	for _, line := range orders[1 : len(orders)-1] { // without the head and the end
		amount, err := strconv.ParseInt(line[column["amount"]], 10, 64)
		if err != nil {
			return fmt.Errorf("a line of orders.csv: %w", err)
		}
		cents += amount
	}
	sums := [2]int64{}
	for i, query := range []string{
		"SELECT COUNT(*) FROM tb_voucher_order", "SELECT SUM(amount) FROM tb_voucher_order",
	} {
		if sums[i], err = at.Number(ctx, query); err != nil {
			return err
		}
	}
	return Equal(map[string][2]int64{
		"the report's accepted are the units":        {figures["accepted"], units},
		"the report's sold out are the others":       {figures["refused.SOLD_OUT"], buyers - units},
		"the report's unpaid orders are the rows":    {figures["orders.unpaid.orders"], sums[0]},
		"the report's unpaid units are the rows":     {figures["orders.unpaid.units"], sums[0]},
		"the report's unpaid cents are those of SQL": {figures["orders.unpaid.amount"], sums[1]},
		"the file's lines are the rows":              {int64(len(orders) - 2), sums[0]},
		"the file's cents are those of SQL":          {cents, sums[1]},
	})
}

// reportOf returns the figures of the report once it has all answers, or as they are after reportPatience.
func reportOf(ctx context.Context, server *rig.Server, buyers int64) (map[string]int64, error) {
	for deadline := time.Now().Add(reportPatience); ; {
		lines, err := table(ctx, server, "report.csv")
		if err != nil {
			return nil, err
		}
		figures := make(map[string]int64)
		for _, line := range lines {
			if n, err := strconv.ParseInt(line[1], 10, 64); err == nil {
				figures[line[0]] = n
			}
		}
		if figures["asked"] >= buyers || time.Now().After(deadline) {
			return figures, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// table reads a file of the sale's report, which must be complete to its last line.
func table(ctx context.Context, server *rig.Server, name string) ([][]string, error) {
	text, err := server.ReportFile(ctx, name)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if last := len(lines) - 1; last < 1 || lines[last][0] != "#end" || lines[last][1] != strconv.Itoa(last-1) {
		return nil, fmt.Errorf("%s was cut off", name)
	}
	return lines, nil
}
