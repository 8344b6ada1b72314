package shops

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

func TestNameOr(t *testing.T) {
	t.Parallel()
	got := []string{nameOr("", 7, words.English), nameOr("", 7, words.Chinese), nameOr("{id}", 7, words.English)}
	if diff := cmp.Diff([]string{"Shop 7", "店铺 7", "{id}"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	settings, none := voucher.Bounds{Sales: 100, Units: 1000}, voucher.Bounds{}
	for what, tc := range map[string]struct {
		change Change
		most   voucher.Bounds
		want   string // field and code of the problem
	}{
		"a name":                   {Change{Name: new(" Tea  house ")}, settings, ""},
		"64 characters":            {Change{Name: new(strings.Repeat("茶", MaxName))}, settings, ""},
		"65 characters":            {Change{Name: new(strings.Repeat("茶", MaxName+1))}, settings, "name CHARACTERS"},
		"blanks":                   {Change{Name: new(" \t ")}, settings, "name BLANK"},
		"two lines":                {Change{Name: new("Tea\nhouse")}, settings, "name CHARACTERS"},
		"a control character":      {Change{Name: new("Tea\x1bhouse")}, settings, "name CHARACTERS"},
		"the settings":             {Change{MaxSales: new(int64(100)), MaxUnits: new(int64(1000))}, settings, ""},
		"none":                     {Change{MaxSales: new(int64(0)), MaxUnits: new(int64(0))}, settings, ""},
		"more sales":               {Change{MaxSales: new(int64(101))}, settings, "maxSales OUT_OF_RANGE"},
		"more units":               {Change{MaxUnits: new(int64(1001))}, settings, "maxUnits OUT_OF_RANGE"},
		"fewer than none":          {Change{MaxUnits: new(int64(-1))}, settings, "maxUnits OUT_OF_RANGE"},
		"many, without settings":   {Change{MaxSales: new(int64(MaxSales))}, none, ""},
		"beyond, without settings": {Change{MaxSales: new(int64(MaxSales + 1))}, none, "maxSales OUT_OF_RANGE"},
	} {
		err, got := tc.change.check(tc.most), ""
		if e, is := errors.AsType[*invalid.Error](err); is {
			got = e.Problems[0].Field + " " + e.Problems[0].Reason.Code
		}
		if got != tc.want {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
	c := Change{Name: new(" Tea  house ")}
	if err := c.check(settings); err != nil || *c.Name != "Tea  house" {
		t.Errorf("%v, %q", err, *c.Name)
	}
}
