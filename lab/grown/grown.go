// Package grown fills a ledger of version 1.0 with the orders of sales that are over, as if the service had sold them:
// tables as large as a year leaves them, in a minute and by SQL alone. Rows, sums and histories agree, so that
// reconcile finds every sale balanced and reports show what was sold. Its tests count what lists and exports read of
// such a ledger, and measure what buyers notice of them.
package grown

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Size is what is sold: Sales sales, the vouchers 1 to Sales, with PerSale orders each, of different users. Every tenth
// order is cancelled, all others are paid.
type Size struct {
	Sales, PerSale int64
	// Open sales are not retired yet: the service builds them in Redis before it retires them.
	Open int64
}

// Orders returns how many orders there are.
func (s Size) Orders() int64 { return s.Sales * s.PerSale }

// Cancelled returns how many orders of a sale are cancelled.
func (s Size) Cancelled() int64 { return (s.PerSale + cancelledEvery - 1) / cancelledEvery }

// What is sold, and when.
const (
	price          = 1000 // cents
	cancelledEvery = 10
	firstOrder     = 600_000_000_000_000_000 // before ids of today
	perSaleIDs     = 10_000_000
	soldAt         = "'2026-01-02 12:00:00.000' + INTERVAL n SECOND"
)

// Fill fills an empty ledger of 1.0 in MySQL or MariaDB.
func Fill(ctx context.Context, db *sql.DB, size Size) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	exec := func(statement string) (int64, error) {
		r, err := conn.ExecContext(ctx, statement)
		if err != nil {
			return 0, fmt.Errorf("%.80s: %w", statement, err)
		}
		return r.RowsAffected()
	}
	for _, statement := range []string{
		"CREATE TABLE lab_number (n BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO lab_number VALUES (0)",
	} {
		if _, err := exec(statement); err != nil {
			return err
		}
	}
	for n, added := int64(1), int64(1); n < size.PerSale && added > 0; n += added {
		if added, err = exec(fmt.Sprintf(
			"INSERT INTO lab_number SELECT n + %d FROM lab_number WHERE n + %d < %d", n, n, size.PerSale)); err != nil {
			return err
		}
	}
	for voucher := int64(1); voucher <= size.Sales; voucher++ {
		for _, statement := range size.sale(voucher) {
			if _, err := exec(statement); err != nil {
				return err
			}
		}
	}
	tables := "tb_voucher, tb_seckill_voucher, tb_voucher_order, tb_order_event, tb_payment, tb_voucher_operation"
	if _, err := exec("ANALYZE TABLE " + tables); err != nil {
		return err
	}
	_, err = exec("DROP TABLE lab_number")
	return err
}

// sale returns the statements for a sale. Each is a transaction.
func (s Size) sale(voucher int64) []string {
	retired := 1
	if voucher > s.Sales-s.Open {
		retired = 0
	}
	fill := strings.NewReplacer(
		"{voucher}", fmt.Sprint(voucher), "{shop}", fmt.Sprint(1+voucher%3), "{price}", fmt.Sprint(price),
		"{first}", fmt.Sprint(firstOrder+voucher*perSaleIDs), "{user}", fmt.Sprint(1_000_000_000+voucher*perSaleIDs),
		"{orders}", fmt.Sprint(s.PerSale), "{cancelled}", fmt.Sprint(s.Cancelled()), "{retired}", fmt.Sprint(retired),
		"{every}", fmt.Sprint(cancelledEvery), "{at}", soldAt, "{payment}",
		fmt.Sprintf("CONCAT('pay_', LPAD(%d, 12, '0'), '-', LPAD(n, 12, '0'))", voucher),
	).Replace
	statements := []string{
		`INSERT INTO tb_voucher (id, shop_id, title, pay_value, actual_value, type, status, version, create_time,
			update_time) VALUES ({voucher}, {shop}, 'sold in January', {price}, 10000, 1, 1, 1,
			'2026-01-01 00:00:00.000', '2026-01-01 00:00:00.000')`,
		`INSERT INTO tb_seckill_voucher (voucher_id, stock, issued, begin_time, end_time, epoch, first_epoch, sequence,
			retired, last_operation) VALUES ({voucher}, {cancelled}, {orders}, '2026-01-02 12:00:00.000',
			'2026-01-09 12:00:00.000', 1, 1, {orders}, {retired}, {cancelled})`,
		`INSERT INTO tb_voucher_order (id, user_id, voucher_id, kind, amount, pay_type, status, create_time, pay_time,
			cancel_time, pay_deadline) SELECT {first} + n, {user} + n, {voucher}, 1, {price},
			IF(n % {every} = 0, 0, 1), IF(n % {every} = 0, 4, 2), {at}, IF(n % {every} = 0, NULL, {at}),
			IF(n % {every} = 0, {at}, NULL), {at} + INTERVAL 900 SECOND FROM lab_number`,
		`INSERT INTO tb_order_event (order_id, status, actor, create_time)
			SELECT {first} + n, IF(n % {every} = 0, 4, 2),
			IF(n % {every} = 0, 'owner', 'payment provider'), {at} FROM lab_number`,
		`INSERT INTO tb_payment (id, order_id, user_id, voucher_id, shop_id, amount, state, create_time, receive_time,
			accept_time, provider) SELECT {payment}, {first} + n, {user} + n, {voucher}, {shop}, {price}, 2, {at}, {at},
			{at}, 'sandbox' FROM lab_number WHERE n % {every} <> 0`,
		`INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, order_id, user_id, actor, state,
			create_time, settle_time)
			SELECT {voucher}, n DIV {every} + 1, 'cancel', 1, {first} + n, {user} + n, 'owner',
			2, {at}, {at} FROM lab_number WHERE n % {every} = 0`,
	}
	for i := range statements {
		statements[i] = fill(statements[i])
	}
	return statements
}
