package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/currency"
	"seckill/internal/kit/xlsx"
	"seckill/internal/order/reason"
	"seckill/internal/voucher"
)

// kind is what a field is to a spreadsheet. To a program each is a text.
type kind int8

const (
	plain  kind = iota // as it is, such as ids: as numbers they would lose digits
	typed              // what a person typed
	number             // a quantity
	cents              // an amount in the currency's least unit
	moment             // a time
	list               // changes, as JSON
)

// field is one field of a line.
type field struct {
	kind kind
	text string
}

// inCSV returns the field as a cell that no spreadsheet takes for a formula.
func (f field) inCSV() string {
	if f.kind == typed {
		return cell(f.text)
	}
	return f.text
}

// inSheet returns the field as a cell of a workbook. Text is none of those that begin formulas there.
func (f field) inSheet(front *httpkit.Front) xlsx.Cell {
	switch f.kind {
	case number:
		return xlsx.Cell{Style: xlsx.Number, Value: f.text}
	case cents:
		if amount, err := strconv.ParseInt(f.text, 10, 64); err == nil {
			digits, _ := currency.Digits(front.Currency)
			return xlsx.Cents(amount, digits)
		}
	case moment:
		if t, err := time.Parse(time.RFC3339, f.text); err == nil {
			return xlsx.At(t.In(front.Zone))
		}
	case list:
		var changes []voucher.FieldChange
		if json.Unmarshal([]byte(f.text), &changes) == nil {
			return xlsx.Cell{Value: inWords(changes)}
		}
	case plain, typed:
	}
	return xlsx.Cell{Value: f.text}
}

// inWords writes changes for people.
func inWords(changes []voucher.FieldChange) string {
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = fmt.Sprintf("%s: %s → %s", c.Field, c.From, c.To)
		if c.From == "" {
			words[i] = c.Field + ": " + c.To
		}
	}
	return strings.Join(words, "; ")
}

// column is a column of a file. Programs read columns by their heads. New columns go to the end, for those that go by
// position.
type column[T any] struct {
	head string
	kind kind
	cell func(T) string
}

// id is a column of numbers that name something.
func id[T any](head string, of func(T) int64) column[T] {
	return column[T]{head, plain, func(row T) string { return csvNumber(of(row)) }}
}

// count is a column of quantities.
func count[T any](head string, of func(T) int64) column[T] {
	return column[T]{head, number, func(row T) string { return csvNumber(of(row)) }}
}

// amount is a column of money.
func amount[T any](head string, of func(T) int64) column[T] {
	return column[T]{head, cents, func(row T) string { return csvNumber(of(row)) }}
}

// at is a column of times.
func at[T any](head string, of func(T) time.Time) column[T] {
	return column[T]{head, moment, func(row T) string { return csvTime(of(row)) }}
}

// text is a column of texts.
func text[T any](head string, of func(T) string) column[T] { return column[T]{head, typed, of} }

func headsOf[T any](columns []column[T]) []field {
	heads := make([]field, len(columns))
	for i, c := range columns {
		heads[i] = field{plain, c.head}
		if c.kind == moment {
			heads[i].kind = moment
		}
	}
	return heads
}

// addLines adds a line for each row, and sends them.
func addLines[T any](o *fileStream, columns []column[T], rows []T) error {
	line := make([]field, len(columns))
	for _, row := range rows {
		for i, c := range columns {
			line[i] = field{c.kind, c.cell(row)}
		}
		if err := o.line(line...); err != nil {
			return err
		}
	}
	return o.flush()
}

// figure returns the value of a report that is at the path.
func figure(path string, value any) field {
	f := field{typed, fmt.Sprint(value)}
	name := path[strings.LastIndexByte(path, '.')+1:]
	_, isNumber := value.(json.Number)
	_, notTime := time.Parse(time.RFC3339, f.text)
	switch {
	case isNumber && (strings.HasSuffix(name, "mount") || strings.HasSuffix(name, "Value") || name == "revenue"):
		f.kind = cents
	case isNumber && !strings.HasSuffix(name, "Id"):
		f.kind = number
	case notTime == nil:
		f.kind = moment
	}
	return f
}

// cell returns the text as a cell that no spreadsheet takes for a formula: it puts a quote before a sign that begins a
// formula.
func cell(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	// Full-width signs begin formulas in East Asian spreadsheets.
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", first) {
		return "'" + text
	}
	return text
}

// csvTime returns a time as a field; "" for the zero time.
func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return httpkit.ShownTime(t).String()
}

func csvNumber(n int64) string { return strconv.FormatInt(n, 10) }

// csvP99 returns a result of httpkit.P99 as a field; "" for 0.
func csvP99(ms float64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', -1, 64)
}

// orderColumns are the columns of an export of orders.
func orderColumns(currency string) []column[ExportRow] {
	return []column[ExportRow]{
		id("id", func(r ExportRow) int64 { return r.Order.ID }),
		id("userId", func(r ExportRow) int64 { return r.Order.UserID }),
		text("status", func(r ExportRow) string { return r.Order.Status.String() }),
		count("quantity", func(r ExportRow) int64 { return r.Order.Quantity.Units() }),
		amount("amount", func(r ExportRow) int64 { return r.Order.Amount }),
		text("currency", func(ExportRow) string { return currency }),
		text("reason", func(r ExportRow) string { return string(r.Order.Reason) }),
		text("whyCode", whyCode),
		at("createTime", func(r ExportRow) time.Time { return r.Order.CreatedAt }),
		at("payBefore", func(r ExportRow) time.Time { return r.Order.PayBefore }),
		at("payTime", func(r ExportRow) time.Time { return r.Order.PaidAt }),
		at("redeemTime", func(r ExportRow) time.Time { return r.Order.RedeemedAt }),
		at("cancelTime", func(r ExportRow) time.Time { return r.Order.CancelledAt }),
		at("refundingTime", func(r ExportRow) time.Time { return r.Order.RefundingAt }),
		at("refundTime", func(r ExportRow) time.Time { return r.Order.RefundedAt }),
		at("failTime", func(r ExportRow) time.Time { return r.Order.FailedAt }),
		at("lapseTime", func(r ExportRow) time.Time { return r.Order.LapsedAt }),
		text("coupon.code", func(r ExportRow) string { return r.Coupon["code"] }),
		{"coupon.validUntil", moment, func(r ExportRow) string { return r.Coupon["validUntil"] }},
		count("number", func(r ExportRow) int64 { return r.Order.Number() }),
	}
}

// whyCode returns the reason of a cancellation: that the order was not paid in time, else "".
func whyCode(row ExportRow) string {
	if row.Expired() {
		return string(reason.NotPaidInTime)
	}
	return ""
}

// auditColumns are the columns of an export of the audit trail. names are those of shops.
func auditColumns(names map[int64]string) []column[AuditRow] {
	return []column[AuditRow]{
		id("id", func(r AuditRow) int64 { return r.Entry.ID }),
		at("at", func(r AuditRow) time.Time { return r.Entry.At }),
		id("adminId", func(r AuditRow) int64 { return r.Entry.By.AdminID }),
		text("account.issuer", func(r AuditRow) string { return r.Author.Issuer }),
		text("account.subject", func(r AuditRow) string { return r.Author.Subject }),
		text("requestId", func(r AuditRow) string { return r.Entry.By.Request }),
		text("action", func(r AuditRow) string { return string(r.Entry.Action) }),
		{"voucherId", plain, func(r AuditRow) string { return written(r.Entry.VoucherID) }},
		{"changes", list, changesOf},
		{"delta", number, ofRestock(func(e voucher.Entry) string { return csvNumber(e.Delta) })},
		{"outcome", plain, ofRestock(func(e voucher.Entry) string { return e.Outcome.String() })},
		{"shopId", plain, func(r AuditRow) string { return written(r.Entry.ShopID) }},
		text("shopName", func(r AuditRow) string { return names[r.Entry.ShopID] }),
	}
}

// written returns an id as text; "" for none.
func written(id int64) string {
	if id == 0 {
		return ""
	}
	return csvNumber(id)
}

func changesOf(r AuditRow) string {
	if len(r.Entry.Changes) == 0 {
		return ""
	}
	text, err := json.Marshal(r.Entry.Changes)
	if err != nil { // texts have a form in JSON
		return ""
	}
	return string(text)
}

// ofRestock returns what only changes of the stock have.
func ofRestock(of func(voucher.Entry) string) func(AuditRow) string {
	return func(r AuditRow) string {
		if r.Entry.Action != voucher.Restocked {
			return ""
		}
		return of(r.Entry)
	}
}
