package shops

import (
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// Limits of shops.
const (
	MaxName = 64 // characters
	// MaxSales is the most sales that a shop's own bound may be, where the setting has none.
	MaxSales = 100_000
)

// Shop is what is known of a shop beside its number. The zero values are those of a shop without a row.
type Shop struct {
	ID int64
	Face
	Bounds    voucher.Bounds // of its own; 0: the setting's
	UpdatedAt time.Time
}

// Face is what everybody sees of a shop.
type Face struct {
	Name    string // "" for none
	Picture string // its address; "" for none
}

// Most returns the bounds of the settings.
func Most(sales, units int64) voucher.Bounds { return voucher.Bounds{Sales: sales, Units: units} }

// nameOr returns the name, or one made of the shop's number.
func nameOr(name string, id int64, in words.Language) string {
	if name != "" {
		return name
	}
	return words.Text{"Shop {id}", "店铺 {id}"}.In(in, words.Data{"id": id})
}

// Change changes those fields of a shop that are not nil.
type Change struct {
	Name     *string
	Picture  *string // "" for none
	MaxSales *int64  // 0: the setting's
	MaxUnits *int64  // 0: the setting's
	// Elsewhere is what is wrong with Picture, unless the shop has it already.
	Elsewhere *invalid.Problem
}

// check trims the name. It returns *invalid.Error for values that are not allowed; most are the bounds of the settings.
func (c *Change) check(most voucher.Bounds) error {
	var p invalid.Problems
	if c.Name != nil {
		name := strings.TrimSpace(*c.Name)
		p.Line("name", name, 1, MaxName)
		c.Name = &name
	}
	bound := func(field string, n *int64, most, otherwise int64) {
		if most == 0 {
			most = otherwise
		}
		if n != nil {
			p.Number(field, *n, 0, most)
		}
	}
	bound("maxSales", c.MaxSales, most.Sales, MaxSales)
	bound("maxUnits", c.MaxUnits, most.Units, voucher.MaxStock)
	return p.Err()
}

// changed returns the shop after a change, and what the change does to it; nothing if the shop is so already. Error:
// *invalid.Error for a new picture that is not allowed.
func (s Shop) changed(c Change) (Shop, []voucher.FieldChange, error) {
	was := s
	if c.Name != nil {
		s.Name = *c.Name
	}
	if c.Picture != nil && *c.Picture != s.Picture {
		if c.Elsewhere != nil {
			return s, nil, invalid.Join(c.Elsewhere)
		}
		s.Picture = *c.Picture
	}
	if c.MaxSales != nil {
		s.Bounds.Sales = *c.MaxSales
	}
	if c.MaxUnits != nil {
		s.Bounds.Units = *c.MaxUnits
	}
	var changes []voucher.FieldChange
	add := func(field, from, to string) {
		if from != to {
			changes = append(changes, voucher.FieldChange{Field: field, From: from, To: to})
		}
	}
	add("shopName", was.Name, s.Name)
	add("picture", was.Picture, s.Picture)
	add("maxSales", written(was.Bounds.Sales), written(s.Bounds.Sales))
	add("maxUnits", written(was.Bounds.Units), written(s.Bounds.Units))
	return s, changes, nil
}

// written returns a bound as text; "" for none.
func written(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
