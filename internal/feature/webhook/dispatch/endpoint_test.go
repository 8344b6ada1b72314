package dispatch

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/invalid"
	"seckill/internal/kit/words"
	"seckill/internal/voucher"
)

// reaching are hosts that are out of a sender's reach.
type reaching map[string]FailureCode

func (r reaching) Never(u *url.URL) Failure {
	if code := r[u.Hostname()]; code != "" {
		return Failure{Code: code, Address: u.Hostname()}
	}
	return Failure{}
}

type others = Endpoints // the methods that are not called

// endpoints keeps one.
type endpoints struct {
	others

	is *Endpoint
}

func (e endpoints) CreateEndpoint(_ context.Context, t Terms, _ Secret, _ voucher.Author) (Endpoint, error) {
	*e.is = Endpoint{Terms: t}
	return *e.is, nil
}

func (e endpoints) ChangeEndpoint(
	_ context.Context, _ int64, _ voucher.Action, _ voucher.Author, change func(*Endpoint, time.Time) error,
) (Endpoint, error) {
	next := *e.is
	if err := change(&next, time.Now()); err != nil {
		return Endpoint{}, err
	}
	*e.is = next
	return next, nil
}

// A URL to which nothing can ever be sent is refused when it is given, and the refusal says why.
func TestURLsThatCannotWork(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	reach := reaching{"10.0.0.1": AddressNotAllowed, "plain.example": NeedsTLS}
	for text, want := range map[string]struct {
		reason invalid.Reason
		says   string
	}{
		"https://shop.example/hook?a=b":        {},
		"https://shop.example.:8443":           {},
		"https://a_b.shop-1.example/":          {},
		"https://receiver:65535/":              {}, // a search domain may complete it
		"HTTPS://shop.example/":                {},
		"https://[2606:4700::1111]:443/":       {},
		"":                                     {invalid.Missing, "is missing"},
		"shop.example/hook":                    {invalid.Malformed, `is "shop.example/hook"`},
		"ftp://shop.example/":                  {badScheme, `begins with "ftp:"`},
		"https:shop.example":                   {invalid.Malformed, "https:shop.example"},
		"https:///hook":                        {invalid.Malformed, ""},
		"https://user:secret@shop.example/":    {invalid.Malformed, "user:xxxxx@"},
		"https://shop.example/#part":           {invalid.Malformed, "#part"},
		"https://shop.example/a b":             {invalid.Malformed, ""},
		"https://shop.example:0/":              {badPort, "has the port 0"},
		"https://shop.example:65536/":          {badPort, "has the port 65536"},
		"https://shop..example/":               {badHostName, `"shop..example"`},
		"https://.example/":                    {badHostName, ""},
		"https://" + long + ".example/":        {badHostName, ""},
		"https://sh*p.example/":                {badHostName, ""},
		"https://hook.invalid/":                {badHostName, ""},
		"https://2130706433/":                  {badHostName, ""}, // some resolvers take it for 127.0.0.1
		"https://127.1/":                       {badHostName, ""},
		"https://0x7f000001/":                  {badHostName, ""},
		"https://10.0.0.1/hook":                {privateAddress, "leads to 10.0.0.1, which is neither"},
		"http://plain.example/":                {unencrypted, "does not list plain.example"},
		"https://" + strings.Repeat("a", 2048): {invalid.Bytes, ""},
	} {
		var kept Endpoint
		admin := &Admin{Endpoints: endpoints{is: &kept}, Never: reach.Never, Now: time.Now}
		_, err := admin.Create(t.Context(), Terms{URL: text}, voucher.Author{})
		if want.reason.Code == "" {
			if err != nil || kept.URL != text {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		wrong, ok := errors.AsType[*invalid.Error](err)
		if !ok || len(wrong.Problems) != 1 || strings.Contains(err.Error(), "secret@") {
			t.Fatalf("%q: %v", text, err)
		}
		if p := wrong.Problems[0]; p.Field != "url" || p.Reason != want.reason ||
			!strings.Contains(p.In(words.English).Reason, want.says) {
			t.Errorf("%q: %v, want %s, %q", text, err, want.reason, want.says)
		}
		kept = Endpoint{Terms: Terms{URL: "https://shop.example/"}}
		_, err = admin.Change(t.Context(), 1, func(t *Terms) { t.URL = text }, voucher.Author{})
		if again, ok := errors.AsType[*invalid.Error](err); !ok || again.Problems[0].Reason != want.reason ||
			kept.URL != "https://shop.example/" {
			t.Errorf("changed to %q: %v, and it is %q", text, err, kept.URL)
		}
	}
}

// An endpoint whose URL is no longer allowed can still be disabled.
func TestOldURLsStay(t *testing.T) {
	t.Parallel()
	kept := Endpoint{Terms: Terms{URL: "https://10.0.0.1/"}}
	reach := reaching{"10.0.0.1": AddressNotAllowed}
	admin := &Admin{Endpoints: endpoints{is: &kept}, Never: reach.Never, Now: time.Now}
	_, err := admin.Change(t.Context(), 1, func(t *Terms) { t.Disabled = true }, voucher.Author{})
	if err != nil || !kept.Disabled {
		t.Errorf("%v, %+v", err, kept)
	}
}

// All types are none: their names are longer than what is stored. Others are checked.
func TestAllTypes(t *testing.T) {
	t.Parallel()
	all := Types()
	for name, test := range map[string]struct {
		types []Type
		fails bool
		want  []Type
	}{
		"all":         {types: all},
		"two":         {types: all[:2], want: all[:2]},
		"all but one": {types: all[1:], fails: true},
		"one twice":   {types: append(slices.Clone(all[1:]), all[1]), fails: true},
		"an unknown":  {types: append(slices.Clone(all[1:]), "order.lost"), fails: true},
		"one more":    {types: append(slices.Clone(all), all[0]), fails: true},
		"none":        {},
		"one":         {types: all[:1], want: all[:1]},
	} {
		for _, changed := range []bool{false, true} {
			kept := Endpoint{Terms: Terms{URL: "https://shop.example/"}}
			admin := &Admin{Endpoints: endpoints{is: &kept}, Never: reaching{}.Never, Now: time.Now}
			var err error
			if changed {
				_, err = admin.Change(t.Context(), 1, func(t *Terms) { t.Types = test.types }, voucher.Author{})
			} else {
				_, err = admin.Create(t.Context(), Terms{URL: kept.URL, Types: test.types}, voucher.Author{})
			}
			if (err != nil) != test.fails || err == nil && !slices.Equal(kept.Types, test.want) {
				t.Errorf("%s, changed %t: %v, %v", name, changed, err, kept.Types)
			}
		}
	}
}
