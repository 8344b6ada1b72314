package dispatch_test

import (
	"strings"
	"testing"

	"seckill/internal/feature/webhook/dispatch"
)

// A cursor says nothing without its key, and is another ledger's with another one.
func TestCursor(t *testing.T) {
	t.Parallel()
	key, other := []byte("0123456789abcdef"), []byte("0123456789abcdeg")
	for _, want := range []dispatch.Position{
		{Number: 0, Since: dispatch.Cover{Epoch: 1}},
		{Number: 1 << 40, Since: dispatch.Cover{Epoch: 900}},
		{Number: 7, Since: dispatch.Cover{Endpoint: 200}},
	} {
		c, err := want.Seal(key)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := want.Seal(key); again == c || err != nil {
			t.Errorf("%+v is sealed as %s again, %v", want, again, err)
		}
		after, problem := dispatch.ParseAfter("after", c.String())
		if problem != nil || after.Cursor == nil {
			t.Fatalf("ParseAfter(%s) = %+v, %v", c, after, problem)
		}
		if got, ok, err := after.Cursor.Open(key); got != want || !ok || err != nil {
			t.Errorf("Open = %+v, %t, %v, want %+v", got, ok, err, want)
		}
		if got, ok, err := after.Cursor.Open(other); ok || err != nil {
			t.Errorf("with another key: %+v, %v", got, err)
		}
	}
}

func TestParseAfter(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "End", "17", " ", strings.Repeat("A", 21), strings.Repeat("A", 23), "AAAAAAAAAAAAAAAAAAAAA+",
		"AAAAAAAAAAAAAAAAAAAAAB",
	} {
		if got, problem := dispatch.ParseAfter("after", text); problem == nil {
			t.Errorf("ParseAfter(%q) = %+v", text, got)
		}
	}
	if got, problem := dispatch.ParseAfter("after", ""); problem != nil || got != (dispatch.After{}) {
		t.Errorf("without a text: %+v, %v", got, problem)
	}
	if got, problem := dispatch.ParseAfter("after", dispatch.End); problem != nil || !got.End {
		t.Errorf("the end: %+v, %v", got, problem)
	}
}
