package wiring

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"seckill/internal/config"
	"seckill/internal/order/service"
	"seckill/internal/telemetry"
)

// An installation that this version has made switches refunds of parts on by itself. One that was there before does
// not: until somebody asks for the first part, it may go back to the version that has made it.
func TestRefundsFromTheStart(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load([]string{"SECKILL_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	logged := make(lines, 1000)
	log := slog.New(slog.NewTextHandler(logged, nil))
	jobs := func(run func(*Shop, *Stores)) int {
		stores, err := Open(t.Context(), cfg, telemetry.Build{}, log)
		if err != nil {
			t.Fatal(err)
		}
		defer stores.Close(log)
		shop := OpenShop(cfg, stores, nil, service.Providers{}, telemetry.NewMetrics(telemetry.Build{}), log)
		defer shop.Close()
		run(shop, stores)
		return len(shop.Jobs())
	}
	made := jobs(func(shop *Shop, stores *Stores) {
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- shop.refundsFromTheStart(ctx) }()
		for line := ""; !strings.Contains(line, "refunds of parts are switched on"); {
			line = <-logged
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		on := 0
		row := stores.Ledger.DB().Pool().QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM tb_setting WHERE name = 'refunds_on'")
		if err := row.Scan(&on); err != nil || on != 1 {
			t.Errorf("noted %d times, %v", on, err)
		}
	})
	if later := jobs(func(*Shop, *Stores) {}); later != made-1 {
		t.Errorf("%d jobs in the installation's first process, %d in its second", made, later)
	}
}

// lines are written by a logger.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
