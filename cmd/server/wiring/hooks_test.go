package wiring

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/features"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order/service"
	"seckill/internal/sqlstore"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// Features' hooks run in the ledger of a serving process and in that of a command: creating a rehearsal's voucher also
// writes the rehearsal's row. The command runs even if a file for the instances is not on its machine.
func TestHooksRunWhereverTheLedgerIsOpened(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load([]string{"SECKILL_DATA_DIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	served, err := Open(t.Context(), cfg, telemetry.Build{}, log)
	if err != nil {
		t.Fatal(err)
	}
	shop := OpenShop(cfg, served, nil, service.Providers{}, telemetry.NewMetrics(telemetry.Build{}), log)
	if _, err := OpenFeatures(Core(cfg, served, shop, httpkit.Front{}, log), served.Ledger); err != nil {
		t.Fatal(err)
	}
	rehearse(t, served.Ledger)
	shop.Close()
	served.Close(log)

	cfg.Session.Issuers, cfg.Guards.Secret = "missing.json", config.Secret(strings.Repeat("0", 32))
	tool, err := openLedger(t.Context(), cfg, telemetry.Build{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer Closing(log, "the database", tool.close)
	rehearse(t, tool.Store)
	var rows int
	err = tool.DB().Pool().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tb_rehearsal").Scan(&rows)
	want := 2
	if !slices.ContainsFunc(features.List(), func(f feature.Feature) bool { return f.Name == "rehearsal" }) {
		want = 0 // a server that is built without them
	}
	if err != nil || rows != want {
		t.Errorf("%d rows of rehearsals, %v; want %d, one for each ledger", rows, err, want)
	}
}

// rehearse creates the voucher of a rehearsal.
func rehearse(t *testing.T, ledger *sqlstore.Store) {
	t.Helper()
	sale := voucher.Sale{Stock: 1, Issued: 1, Begin: ledger.DB().Clock(), End: ledger.DB().Clock().AddDate(0, 0, 1)}
	v := voucher.Voucher{
		ShopID: voucher.RehearsalShop, Title: "a rehearsal", PayValue: 1, Kind: voucher.Seckill,
		Status: voucher.OnShelf, Rehearses: 1, Sale: &sale,
	}
	if err := ledger.Vouchers.CreateVoucher(t.Context(), &v, voucher.Author{}); err != nil {
		t.Fatal(err)
	}
}
