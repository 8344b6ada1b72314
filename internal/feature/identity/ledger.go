package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

const (
	// perIssuer is how many ids are reserved for an issuer's accounts. An account's id shows its issuer, so that an
	// issuer's tokens can be made void without reading its accounts.
	perIssuer = 1 << 40
	// mostIssuers is how many issuers there may ever be.
	mostIssuers = (voucher.LastAccount - voucher.FirstAccount + 1) / perIssuer

	tries = 20 // attempts to find a free number: two accounts rarely draw the same, but racing instances do
)

var errNumbers = errors.New("no free number was found")

type issuerRow struct {
	Number     int64     `gorm:"column:number;primaryKey;autoIncrement:false"`
	Issuer     []byte    `gorm:"column:issuer"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (issuerRow) TableName() string { return "tb_issuer" }

type accountRow struct {
	ID         int64     `gorm:"column:id;primaryKey;autoIncrement:false"`
	Issuer     int64     `gorm:"column:issuer"`
	Subject    []byte    `gorm:"column:subject"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (accountRow) TableName() string { return "tb_account" }

// Ledger keeps accounts, and whose tokens are void.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns a ledger of accounts.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }

// Account returns the user of a subject, and makes an account for a new subject. Ids are drawn at random from those of
// the issuer, so that they do not show how many accounts there are. If instances race, the others find the row of the
// first; after a COMMIT whose answer was lost, the next try finds its own. Error: order.ErrUnavailable.
func (l *Ledger) Account(ctx context.Context, issuer, subject string) (int64, error) {
	for range tries {
		var known int64
		err := l.db.Read(ctx).Table("tb_account a").Select("a.id").Joins("JOIN tb_issuer i ON i.number = a.issuer").
			Where("i.issuer = ? AND a.subject = ?", []byte(issuer), []byte(subject)).Limit(1).Find(&known).Error
		if err != nil || known != 0 {
			return known, sqlkit.ReadError("reading an account", err)
		}
		number, err := l.issuerNumber(ctx, issuer)
		if err != nil {
			return 0, err
		}
		n, err := rand.Int(rand.Reader, big.NewInt(perIssuer-1))
		if err != nil {
			return 0, fmt.Errorf("drawing an account's id: %w", err)
		}
		first, _ := accountsOf(number)
		id := first + 1 + n.Int64()
		err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
			return tx.Create(&accountRow{id, number, []byte(subject), l.db.Clock()}).Error
		})
		if err == nil {
			return id, nil
		}
		if !sqlkit.IsDuplicate(err) && !errors.Is(err, order.ErrUnknownChange) {
			return 0, sqlkit.ReadError("making an account", err)
		}
	}
	return 0, fmt.Errorf("making an account: %w", errNumbers)
}

// Accounts returns the issuer and the subject of each of the users that has an account.
func (l *Ledger) Accounts(ctx context.Context, userIDs []int64) (map[int64]voucher.Account, error) {
	ids := slices.DeleteFunc(slices.Clone(userIDs), func(id int64) bool {
		return id < voucher.FirstAccount || id > voucher.LastAccount
	})
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // nobody has an account
	}
	var rows []struct {
		ID      int64  `gorm:"column:id"`
		Issuer  []byte `gorm:"column:issuer"`
		Subject []byte `gorm:"column:subject"`
	}
	err := l.db.Read(ctx).Table("tb_account a").Select("a.id, i.issuer, a.subject").
		Joins("JOIN tb_issuer i ON i.number = a.issuer").Where("a.id IN ?", ids).Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading whose accounts these are", err)
	}
	all := make(map[int64]voucher.Account, len(rows))
	for _, r := range rows {
		all[r.ID] = voucher.Account{Issuer: string(r.Issuer), Subject: string(r.Subject)}
	}
	return all, nil
}

// accountsOf returns the range of ids of an issuer's accounts. No account has the first id, so that the range of an
// issuer and the range of a user never begin with the same id.
func accountsOf(number int64) (first, last int64) {
	first = voucher.FirstAccount + number*perIssuer
	return first, first + perIssuer - 1
}

// Issuer returns the first and the last id of an issuer's accounts; false if nobody has ever signed in by it.
func (l *Ledger) Issuer(ctx context.Context, issuer string) (first, last int64, known bool, err error) {
	var r issuerRow
	err = l.db.Read(ctx).Where("issuer = ?", []byte(issuer)).Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, sqlkit.ReadError("reading an issuer", err)
	}
	first, last = accountsOf(r.Number)
	return first, last, true, nil
}

// issuerNumber returns an issuer's number, and assigns a number if it has none.
func (l *Ledger) issuerNumber(ctx context.Context, issuer string) (int64, error) {
	for range tries {
		first, _, known, err := l.Issuer(ctx, issuer)
		if err != nil || known {
			return (first - voucher.FirstAccount) / perIssuer, err
		}
		err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error { return l.addIssuer(tx, issuer) })
		if err != nil && !sqlkit.IsDuplicate(err) && !errors.Is(err, order.ErrUnknownChange) {
			return 0, sqlkit.ReadError("adding an issuer", err)
		}
	}
	return 0, fmt.Errorf("adding an issuer: %w", errNumbers)
}

func (l *Ledger) addIssuer(tx *gorm.DB, issuer string) error {
	var n int64
	if err := tx.Model(&issuerRow{}).Count(&n).Error; err != nil { // rows are never removed
		return err
	}
	if n >= mostIssuers {
		return fmt.Errorf("there are %d issuers, which is the limit", n)
	}
	return tx.Create(&issuerRow{n, []byte(issuer), l.db.Clock()}).Error
}
