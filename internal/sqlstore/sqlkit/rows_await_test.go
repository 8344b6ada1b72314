package sqlkit_test

import (
	"context"
	"errors"
	"testing"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

func TestAwaitRow(t *testing.T) {
	t.Parallel()
	broken, ended := errors.New("broken"), errors.New("ended")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	for _, tc := range []struct {
		name   string
		ctx    context.Context //nolint:containedctx // of one call
		hidden int             // how often the row is not seen
		err    error           // of the query after that
		want   error
	}{
		{"seen at once", t.Context(), 0, nil, nil},
		{"seen later", t.Context(), 3, nil, nil},
		{"an error", t.Context(), 2, broken, broken},
		{"the caller gives up", cancelled, 1 << 30, nil, ended},
		{"never seen", t.Context(), 1 << 30, nil, order.ErrUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			err := sqlkit.AwaitRow(tc.ctx, func() (bool, error) {
				asked++
				if asked <= tc.hidden {
					return false, nil
				}
				return tc.err == nil, tc.err
			})
			if !errors.Is(err, tc.want) {
				t.Errorf("after %d tries %v, want %v", asked, err, tc.want)
			}
		})
	}
}
