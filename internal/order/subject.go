package order

import (
	"strconv"
	"strings"
)

// Subject is what an event is about, as it is stored: the kind and the id, such as order-5, place-7-12 or sale-7. An
// event's webhook-id is the subject and the event's number, which counts the events of the subject.
type Subject string

// SubjectKind is the kind of thing that an event is about.
type SubjectKind string

// The kinds of subjects. A new one is a constant, a constructor, and an entry in known.
const (
	SubjectOrder SubjectKind = "order"
	SubjectPlace SubjectKind = "place" // on a waiting list
	SubjectSale  SubjectKind = "sale"
)

// known returns how many numbers the id of each kind has.
func known() map[SubjectKind]int {
	return map[SubjectKind]int{SubjectOrder: 1, SubjectPlace: 2, SubjectSale: 1}
}

// SubjectOfOrder returns the subject of an order's events.
func SubjectOfOrder(orderID int64) Subject { return subject(SubjectOrder, orderID) }

// SubjectOfPlace returns the subject of the events of a place on a waiting list.
func SubjectOfPlace(id PlaceID) Subject { return subject(SubjectPlace, id.VoucherID, id.Position) }

// SubjectOfSale returns the subject of the events of a voucher's sale.
func SubjectOfSale(voucherID int64) Subject { return subject(SubjectSale, voucherID) }

func subject(kind SubjectKind, id ...int64) Subject {
	const longest = 48 // the columns' length
	text := append(make([]byte, 0, longest), kind...)
	for _, n := range id {
		text = strconv.AppendInt(append(text, '-'), n, 10)
	}
	return Subject(text)
}

// ParseSubject reads the text of a subject that an event can have.
func ParseSubject(text string) (s Subject, ok bool) {
	kind, id, _ := strings.Cut(text, "-")
	numbers := known()[SubjectKind(kind)]
	if numbers == 0 || strings.Count(id, "-") != numbers-1 {
		return "", false
	}
	for part := range strings.SplitSeq(id, "-") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n <= 0 || strconv.FormatInt(n, 10) != part {
			return "", false
		}
	}
	return Subject(text), true
}

// Kind returns the kind of the subject.
func (s Subject) Kind() SubjectKind {
	kind, _, _ := strings.Cut(string(s), "-")
	return SubjectKind(kind)
}

// ID returns the id in the subject: an order's, a voucher's, or for a place, the voucher's id and the position.
func (s Subject) ID() string {
	_, id, _ := strings.Cut(string(s), "-")
	return id
}

// Subject returns what the event of a turn is about: the place, or for TurnReleased, the sale.
func (t Turn) Subject() Subject {
	if t.Kind == TurnReleased {
		return SubjectOfSale(t.ID.VoucherID)
	}
	return SubjectOfPlace(t.ID)
}
