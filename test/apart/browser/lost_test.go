package browser

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"seckill/test/box"
)

// callOffAndLose calls a sale without orders off, and has the ledger lose that, as if a server that lagged behind had
// taken over.
func (s *shop) callOffAndLose(voucher int64) {
	s.tb.Helper()
	db, err := sql.Open("mysql", s.server.Settings["SECKILL_MYSQL_DSN"])
	if err != nil {
		s.tb.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		s.tb.Helper()
		if _, err := db.ExecContext(s.tb.Context(), query, args...); err != nil {
			s.tb.Fatal(err)
		}
	}
	box.Eventually(s.tb, "operations having identities", func() error {
		if !strings.Contains(s.server.Log.String(), "from now on operations get them") {
			return errors.New("they have none")
		}
		return nil
	})
	exec("CREATE TABLE kept AS SELECT * FROM tb_seckill_voucher WHERE voucher_id = ?", voucher)
	s.must(http.MethodPost, fmt.Sprintf("/admin/voucher/%d/call-off", voucher), admin,
		map[string]string{"why": "the price was wrong"}, nil)
	box.Eventually(s.tb, "Redis having the call-off", func() error {
		var pending int64
		err := db.QueryRowContext(s.tb.Context(),
			"SELECT COUNT(*) FROM tb_voucher_operation WHERE voucher_id = ? AND state = 1", voucher).Scan(&pending)
		if err == nil && pending > 0 {
			err = fmt.Errorf("%d operations are pending", pending)
		}
		return err
	})
	exec("DELETE FROM tb_audit WHERE voucher_id = ? AND action = 'call_off'", voucher)
	exec("DELETE o FROM tb_voucher_operation o JOIN kept k ON k.voucher_id = o.voucher_id AND "+
		"o.number > k.last_operation WHERE o.voucher_id = ?", voucher)
	exec("UPDATE tb_seckill_voucher s JOIN kept k ON k.voucher_id = s.voucher_id SET s.called_off = k.called_off, "+
		"s.stock = k.stock, s.end_time = k.end_time, s.last_operation = k.last_operation "+
		"WHERE s.voucher_id = ?", voucher)
}

// TestConsoleLostDecision shows a sale whose call-off the database has lost: paused, with what either store has of it,
// until somebody decides anew.
func TestConsoleLostDecision(t *testing.T) {
	t.Parallel()
	small := phone().in("zh-CN").inDark()
	small.width = 360
	for _, tt := range []struct {
		device                                  device
		title, kind, redis, database, calledOff string
	}{
		{desktop(), "lost a decision", "it was called off", "called off", "on sale", "Called off"},
		{small, "数据库丢失了", "取消活动", "已取消", "开售", "活动已取消"},
	} {
		t.Run(tt.device.name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			v := s.onSale("Noodles for two", 40)
			w := open(t, s.url(fmt.Sprintf("/admin#/voucher/%d", v)), s.asAdmin(tt.device))
			w.sees("[data-tile=stock]", "40") // an open page shows what becomes of the sale
			s.callOffAndLose(v)
			w.sees("[data-lost] h2", tt.title)
			w.sees("[data-lost]", tt.kind)
			w.sees("[data-lost] tbody td:nth-child(2) b", tt.redis)
			w.sees("[data-lost] tbody td:nth-child(3) b", tt.database)
			w.sees("tr[data-action=decision_lost] del", tt.redis)
			w.accessible()
			w.picture("console-lost-decision-"+tt.device.name, true)
			w.acts("calloff")
			w.enter("#f-why", "once more: the price was wrong")
			w.enter("#f-number", fmt.Sprint(v))
			w.click("[data-act=yes]")
			w.sees(".head .tag", tt.calledOff)
			w.seesNo("[data-lost]")
		})
	}
}
