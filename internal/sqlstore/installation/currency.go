package installation

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/sqlkit"
)

const currencySetting = "currency"

// ErrOtherCurrency says that the amounts in the ledger are in another currency than the settings say.
var ErrOtherCurrency = errors.New("the amounts in the database are in another currency")

// TakeCurrency notes the currency of all amounts, a code of ISO 4217, on the first call of an installation, and checks
// it on all later ones: ErrOtherCurrency.
func (t *Tables) TakeCurrency(ctx context.Context, code string) error {
	noted := make([]byte, len(code))
	err := t.loadSetting(ctx, currencySetting, noted)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = t.db.WriteRetry(ctx, func(tx *gorm.DB) error {
			now, err := t.db.LedgerTime(tx)
			if err != nil {
				return err
			}
			return tx.Create(&sqlkit.SettingRow{Name: currencySetting, Value: []byte(code), CreateTime: now}).Error
		})
		if err != nil && !sqlkit.IsDuplicate(err) { // another instance was first
			return fmt.Errorf("storing setting %s: %w", currencySetting, err)
		}
		err = t.loadSetting(ctx, currencySetting, noted)
	}
	switch {
	case err != nil:
		return err
	case string(noted) != code:
		return fmt.Errorf("%w: %s, and SECKILL_CURRENCY is %s", ErrOtherCurrency, noted, code)
	}
	return nil
}
