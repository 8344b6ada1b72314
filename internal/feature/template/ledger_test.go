package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/template"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// A template is the voucher as it was saved, without its moments, whatever becomes of the voucher.
func TestTemplates(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		templates := template.NewTemplates(l.DB(), l.Voucher)
		v := ledgertest.Draft()
		v.Kind, v.Rules = voucher.Seckill, "one each"
		v.Redemption = voucher.Redemption{ByCode: true, ValidDays: 30}
		v.VisibleFrom = ledgertest.StartTime.Add(-time.Hour)
		v.Sale = &voucher.Sale{
			Stock: 7, Issued: 7, Begin: ledgertest.StartTime, End: ledgertest.StartTime.Add(2 * time.Hour),
			InviteWindow: time.Minute,
			Guards:       &guards.Settings{Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 5, Seconds: 10}}},
		}
		if err := l.CreateVoucher(t.Context(), &v, ledgertest.Admin); err != nil {
			t.Fatal(err)
		}
		saved, err := templates.Save(t.Context(), ledgertest.Admin, v.ID, "Evening")
		want := template.Of(v, "Evening")
		want.ID, want.CreatedAt = saved.ID, ledgertest.RecordedAt
		if diff := cmp.Diff(want, saved); err != nil || diff != "" || want.Lasts != 2*time.Hour || want.Seen == 0 {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		l.Exec(t, "UPDATE tb_voucher SET title = 'another' WHERE id = ?", v.ID)
		plain, err := templates.Save(t.Context(), ledgertest.Admin, l.Ordinary(t), "Always")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := templates.List(t.Context(), v.ShopID); err != nil ||
			cmp.Diff([]template.Template{plain, want}, got) != "" {
			t.Errorf("%v: listed %+v", err, got)
		}
		if got, err := templates.List(t.Context(), 0); err != nil ||
			cmp.Diff([]template.Template{plain, want}, got) != "" {
			t.Errorf("%v: of all shops %+v", err, got)
		}
		if got, err := templates.List(t.Context(), v.ShopID+1); err != nil || len(got) != 0 {
			t.Errorf("%v: another shop has %+v", err, got)
		}
		for what, got := range map[string]error{
			"a name again":         second(templates.Save(t.Context(), ledgertest.Admin, v.ID, "Evening")),
			"renamed to another's": second(templates.Rename(t.Context(), ledgertest.Admin, plain.ID, "Evening")),
		} {
			if !errors.Is(got, template.ErrName) {
				t.Errorf("%s: %v", what, got)
			}
		}
		if err := second(templates.Save(t.Context(), ledgertest.Admin, 4711, "x")); !errors.Is(err,
			voucher.ErrNotFound) {
			t.Errorf("of no voucher: %v", err)
		}
		for range 2 { // repeated after a lost answer
			if got, err := templates.Rename(t.Context(), ledgertest.Admin, plain.ID, "Late"); err != nil ||
				got.Name != "Late" || got.Voucher.Title != plain.Voucher.Title {
				t.Errorf("renamed: %+v, %v", got, err)
			}
		}
		l.Exec(t, "UPDATE tb_voucher_template SET fields = '{\"title\":1' WHERE id = ?", saved.ID)
		if got, err := templates.List(t.Context(), 0); err != nil || len(got) != 2 || got[0].Name != "Evening" ||
			got[0].Voucher.Title != "" {
			t.Errorf("nonsense: %+v, %v", got, err)
		}
		for range 2 {
			err = templates.Delete(t.Context(), ledgertest.Admin, saved.ID)
		}
		if !errors.Is(err, template.ErrNone) ||
			!errors.Is(second(templates.Rename(t.Context(), ledgertest.Admin, saved.ID, "x")), template.ErrNone) {
			t.Errorf("deleted twice: %v", err)
		}
		if n := l.Number(t, "SELECT COUNT(*) FROM tb_audit WHERE changes LIKE '%\"template\"%'"); n != 4 {
			t.Errorf("%d entries of the audit trail, want 4", n)
		}
	})
}

func TestTooManyTemplates(t *testing.T) {
	ledgertest.Each(t, func(t *testing.T, l ledgertest.Ledger) {
		templates := template.NewTemplates(l.DB(), l.Voucher)
		id := l.Ordinary(t)
		for i := range template.Most {
			if _, err := templates.Save(t.Context(), ledgertest.Admin, id, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := second(templates.Save(t.Context(), ledgertest.Admin, id, "one more")); !errors.Is(err,
			template.ErrMany) {
			t.Errorf("%v", err)
		}
		rows := make([]string, template.Listed)
		for i := range rows {
			rows[i] = fmt.Sprintf("(%d, 'x', '{}', '2026-01-02')", 1000+i)
		}
		l.Exec(t, "INSERT INTO tb_voucher_template (shop_id, name, fields, create_time) VALUES "+
			strings.Join(rows, ", "))
		if got, err := templates.List(t.Context(), 0); err != nil || len(got) != len(rows) ||
			got[0].Voucher.ShopID != 1000 {
			t.Errorf("%v: %d templates of all shops are listed, want the newest %d", err, len(got), len(rows))
		}
	})
}

func second[T any](_ T, err error) error { return err }
