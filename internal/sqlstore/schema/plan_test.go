package schema_test

import (
	"fmt"
	"slices"
	"testing"

	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/schema/ddl"
	"seckill/internal/testkit"
)

// The plan for a ledger of 1.0 names what comes after it, with the rows of its tables; that for an empty schema names
// everything, and that for a migrated one nothing. None changes anything.
func TestPlan(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *sqlstore.Store, l ledger) {
		store := open()
		if got := plannedFiles(t, store); !slices.Equal(got, files) {
			t.Errorf("an empty schema lacks %v", got)
		}
		if n := l.tables(t); n != 0 {
			t.Errorf("the plan made %d tables", n)
		}
		migrate(t, store, files)
		if got := plannedFiles(t, store); len(got) > 0 {
			t.Errorf("a migrated schema lacks %v", got)
		}
	})
}

func TestPlanCountsRows(t *testing.T) {
	t.Parallel()
	const rows = 300
	dsn := testkit.MySQL(t)
	migrateTo(t, dsn, firstRelease)
	l := pastStore(t, dsn)
	for n := range rows {
		l.Exec(t, fmt.Sprintf("INSERT INTO tb_voucher_operation (voucher_id, number, kind, delta, actor, state, "+
			"create_time) VALUES (1, %d, 'stock', 1, 'admin', 2, NOW())", n+1))
	}
	l.Exec(t, "ANALYZE TABLE tb_voucher_operation")
	plan, err := openQuiet(t, dsn).Schema().Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(plan.Steps, func(s schema.Step) bool { return s.Table == "tb_voucher_operation" })
	if i < 0 {
		t.Fatalf("the plan is %+v", plan)
	}
	if s := plan.Steps[i]; s.Kind != ddl.AddColumn || s.Rows < rows/2 || s.Rows > 2*rows || s.Bytes == 0 ||
		s.Takes == 0 {
		t.Errorf("the step is %+v", s)
	}
}

// plannedFiles returns the files of a plan, in order.
func plannedFiles(t *testing.T, store *sqlstore.Store) (files []string) {
	t.Helper()
	plan, err := store.Schema().Plan(t.Context())
	if err != nil || plan.Place == "" || plan.Server == "" {
		t.Fatalf("%+v, %v", plan, err)
	}
	for _, s := range plan.Steps {
		files = append(files, s.File)
	}
	return slices.Compact(files)
}
