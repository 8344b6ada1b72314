package installation

import (
	"context"
	"errors"
	"fmt"
)

const currencySetting = "currency"

// ErrOtherCurrency says that the amounts in the ledger are in another currency than the settings say.
var ErrOtherCurrency = errors.New("the amounts in the database are in another currency")

// TakeCurrency notes the currency of all amounts, a code of ISO 4217, on the first call of an installation, and checks
// it on all later ones: ErrOtherCurrency.
func (t *Tables) TakeCurrency(ctx context.Context, code string) error {
	noted := []byte(code)
	err := t.firstSetting(ctx, currencySetting, noted)
	switch {
	case err != nil:
		return err
	case string(noted) != code:
		return fmt.Errorf("%w: %s, and SECKILL_CURRENCY is %s", ErrOtherCurrency, noted, code)
	}
	return nil
}
