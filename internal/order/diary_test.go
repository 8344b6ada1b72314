package order

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// said is the script's answer to applicants, with the sequence after it.
func said(sequence int64, codes ...OutcomeCode) Verdict {
	v := Verdict{View: SaleView{Mark: Mark{Epoch: 3, Sequence: sequence}}}
	for _, c := range codes {
		v.Outcomes = append(v.Outcomes, Outcome{Code: c})
	}
	return v
}

// applied are so many users from the given one on, with orders 100 above.
func applied(voucherID, from int64, n int) Batch {
	b := Batch{Sale: SaleRef{VoucherID: voucherID}}
	for i := range int64(n) {
		b.Applicants = append(b.Applicants, Applicant{UserID: from + i, OrderID: from + i + 100})
	}
	return b
}

func TestDiaryNotesWhoIsAccepted(t *testing.T) {
	t.Parallel()
	d := NewDiary()
	d.write(applied(voucherA, 1, 4), said(12, Accepted, SoldOut, AlreadyBought, Accepted), false)
	d.write(applied(voucherA, 5, 2), said(12, SoldOut, SoldOut), false)
	d.write(applied(voucherA+1, 7, 1), said(1, Accepted), false)
	d.write(applied(voucherA, 8, 2), said(14, Accepted, Doubtful), true)
	note := func(user, sequence int64) Claim {
		return Claim{OrderID: user + 100, UserID: user, VoucherID: voucherA, Epoch: 3, Sequence: sequence}
	}
	if diff := cmp.Diff([]Claim{note(1, 11), note(4, 12), note(8, 0)}, d.of(voucherA)); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
	if got := d.of(99); got != nil {
		t.Errorf("of a sale of which nothing was accepted: %v", got)
	}
}

// What is young is kept as long as there may be more; then the oldest go.
func TestDiaryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDiary()
		user := int64(0)
		fill := func(n int) {
			for range n {
				user++
				d.write(applied(voucherA, user, 1), said(user, Accepted), false)
			}
		}
		kept := func(want int, first int64) {
			t.Helper()
			got := d.of(voucherA)
			if len(got) != want || got[0].UserID != first || got[want-1].UserID != user {
				t.Fatalf("%d are kept, the first of user %d; want %d from %d to %d", len(got), got[0].UserID, want, first, user)
			}
			for i, c := range got {
				if c.UserID != first+int64(i) {
					t.Fatalf("user %d in place %d", c.UserID, i)
				}
			}
		}
		fill(diaryStart + 10)
		kept(diaryStart+10, 1) // it has grown
		time.Sleep(diaryTime)
		kept(diaryStart+10, 1) // old ones stay until their room is needed
		fill(2 * diaryStart)
		kept(2*diaryStart, diaryStart+11)
		fill(diarySize)
		kept(diarySize, user-diarySize+1)
		fill(5)
		kept(diarySize, user-diarySize+1)
	})
}
