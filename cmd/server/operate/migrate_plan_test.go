package operate

import (
	"strings"
	"testing"
	"time"

	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/schema/ddl"
)

// The plan says what each statement costs, and what to do when all of them take too long.
func TestPlanText(t *testing.T) {
	t.Parallel()
	step := func(kind ddl.Kind, rows int64, takes time.Duration) schema.Step {
		return schema.Step{
			File: "02000_change.sql", Rows: rows, Bytes: 120 << 20, Takes: takes,
			Statement: ddl.Statement{
				Text: "ALTER TABLE tb_order " + strings.Repeat("x", 200), Kind: kind, Table: "tb_order",
			},
		}
	}
	column := step(ddl.AddColumn, 1_130_000, time.Millisecond)
	for name, tc := range map[string]struct {
		plan       schema.Plan
		says, omit []string
	}{
		"nothing": {
			schema.Plan{Place: "shop at db:3306", Server: "9.7.4"},
			[]string{"shop at db:3306 (9.7.4): the schema is up to date"},
			[]string{"in all"},
		},
		"a column": {
			schema.Plan{Steps: []schema.Step{column}},
			[]string{
				"02000_change.sql\n", "x …\n", "tb_order has about 1,130,000 rows: under a second, however many",
				"in all: under a second", "comes again",
			},
			[]string{"replica", "Galera", "That is long"},
		},
		"an index": {
			schema.Plan{Steps: []schema.Step{column, step(ddl.AddIndex, 9_999, 31*time.Second)}},
			[]string{"about 9,999 rows, 120 MB: about 31 s, while others write it", "A replica repeats"},
			[]string{"Galera", "That is long"},
		},
		"a long index on Galera": {
			schema.Plan{Galera: true, Steps: []schema.Step{step(ddl.AddIndex, 100_000_000, 5*time.Minute)}},
			[]string{
				"100,000,000", "about 5 min", "no node commits anything", "That is long", "SECKILL_MIGRATE=false",
				"gh-ost",
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := planText(tc.plan)
			for _, part := range tc.says {
				if !strings.Contains(text, part) {
					t.Errorf("it does not say %q:\n%s", part, text)
				}
			}
			for _, part := range tc.omit {
				if strings.Contains(text, part) {
					t.Errorf("it says %q:\n%s", part, text)
				}
			}
		})
	}
}
