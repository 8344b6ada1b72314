package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/voucher"
)

// goodBody is what a seckill voucher is created from, field by field as raw JSON.
func goodBody() map[string]string {
	return map[string]string{
		"shopId": "1", "title": `"100 for 10"`, "subTitle": `"tonight"`, "rules": `"one each"`, "payValue": "1000", "actualValue": "10000",
		"stock": "5000", "beginTime": `"2026-01-02T20:00:00Z"`, "endTime": `"2026-01-02T23:00:00+01:00"`,
	}
}

func object(fields map[string]string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		members = append(members, fmt.Sprintf("%q:%s", name, fields[name]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// create posts a body as an admin and returns the answer and what was created.
func create(tb testing.TB, target, body string, header map[string]string, change ...func(*Config)) (told, int, []voucher.Voucher) {
	tb.Helper()
	kept := &fakeVouchers{}
	a := newAPI(tb, append(change, func(cfg *Config) { cfg.Vouchers = kept })...)
	h := map[string]string{"Authorization": token(tb, adminID, RoleAdmin)}
	maps.Copy(h, header)
	w := do(tb, a, request{method: http.MethodPost, target: target, body: body, header: h})
	if w.Code == http.StatusCreated {
		return read(tb, w), w.Code, kept.all()
	}
	return wantProblem(tb, w, w.Code, read(tb, w).Code), w.Code, kept.all()
}

func TestCreateSeckill(t *testing.T) {
	t.Parallel()
	_, status, created := create(t, "/voucher/seckill", object(goodBody()), nil)
	if status != http.StatusCreated || len(created) != 1 {
		t.Fatalf("status %d, created %+v", status, created)
	}
	want := voucher.Voucher{
		ID: 1, ShopID: 1, Title: "100 for 10", SubTitle: "tonight", Rules: "one each", PayValue: 1000, ActualValue: 10000,
		PayWithin: voucher.DefaultPayWithin, Kind: voucher.Seckill, Status: voucher.OnShelf, CreatedAt: noon, UpdatedAt: noon,
		Sale: &voucher.Sale{Stock: 5000, Issued: 5000, Begin: noon.Add(8 * time.Hour), End: noon.Add(10 * time.Hour)},
	}
	if diff := cmp.Diff(want, created[0]); diff != "" {
		t.Error(diff)
	}
}

func TestCreateOrdinary(t *testing.T) {
	t.Parallel()
	answer, status, created := create(t, "/voucher", `{"shopId":1,"title":"x","payValue":0,"actualValue":1}`, nil)
	if status != http.StatusCreated || len(created) != 1 || created[0].Sale != nil || created[0].SubTitle != "" {
		t.Fatalf("%d %s, created %+v", status, answer.Data, created)
	}
	// The fields of a sale are unknown here: an admin who takes the wrong route is told so.
	refused, status, created := create(t, "/voucher", object(goodBody()), nil)
	if status != http.StatusBadRequest || len(created) != 0 {
		t.Fatalf("%d %+v, created %+v", status, refused, created)
	}
	if diff := cmp.Diff([]string{"beginTime", "endTime", "stock"}, fieldsOf(refused)); diff != "" {
		t.Error(diff)
	}
}

func fieldsOf(t told) []string {
	var names []string
	for _, p := range t.Errors {
		names = append(names, p.Field)
	}
	return names
}

// Every field with every wrong value: a clear refusal that names the field, and nothing is created.
func TestEveryFieldRefusesWhatItCannotBe(t *testing.T) {
	t.Parallel()
	notNumbers := []string{`"1"`, `1.0`, `1.5`, `1e3`, `9223372036854775808`, `-9223372036854775809`, `1` + strings.Repeat("0", 400), `null`, `true`, `[]`, `{}`, `[1]`, `{"a":1}`, `""`}
	notText := []string{`1`, `null`, `false`, `[]`, `["a"]`, `{}`, `"` + strings.Repeat("x", 1025) + `"`, `"a\u0000b"`}
	notTimes := []string{`1`, `null`, `true`, `[]`, `{}`, `""`, `"now"`, `"2026-01-02"`, `"2026-01-02 20:00:00"`, `"2026-13-02T20:00:00Z"`, `"2026-02-30T20:00:00"`, `"0001-01-01T00:00:00Z"`, `"2026-01-02T20:00:00+99:00"`, `"1767384000"`}
	wrong := map[string][]string{
		"shopId": append([]string{`0`, `-1`, `9007199254740992`}, notNumbers...), "title": append([]string{`""`, `"  "`, `"` + strings.Repeat("券", 256) + `"`}, notText...),
		"subTitle": notText, "rules": notText,
		"payValue": append([]string{`-1`, `100000000001`}, notNumbers...), "actualValue": append([]string{`0`, `-1`}, notNumbers...),
		"stock": append([]string{`0`, `-1`, `100000001`}, notNumbers...), "beginTime": notTimes, "endTime": append([]string{`"2026-01-02T20:00:00Z"`, `"2025-01-01T00:00:00Z"`}, notTimes...),
	}
	for field, values := range wrong {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			for _, value := range values {
				body := goodBody()
				body[field] = value
				got, status, created := create(t, "/voucher/seckill", object(body), nil)
				if status != http.StatusBadRequest || got.Code != "INVALID" || len(created) != 0 {
					t.Errorf("%.40s: status %d, created %+v", value, status, created)
					continue
				}
				p := got.Errors
				if len(p) != 1 || p[0].Field != field || p[0].Reason == "" || p[0].Allowed == "" || len(p[0].Reason) > 200 {
					t.Errorf("%.40s: %+v", value, p)
				}
			}
		})
	}
	if _, status, created := create(t, "/voucher/seckill", object(goodBody()), nil); status != http.StatusCreated || len(created) != 1 {
		t.Errorf("the good body: status %d, created %+v", status, created)
	}
}

func TestMissingFields(t *testing.T) {
	t.Parallel()
	for field := range goodBody() {
		body := goodBody()
		delete(body, field)
		got, status, created := create(t, "/voucher/seckill", object(body), nil)
		if field == "subTitle" || field == "rules" {
			if status != http.StatusCreated {
				t.Errorf("without %s: %d", field, status)
			}
			continue
		}
		if diff := cmp.Diff([]string{field}, fieldsOf(got)); diff != "" || status != http.StatusBadRequest || len(created) != 0 {
			t.Errorf("without %s: %d, %+v", field, status, got.Errors)
		}
	}
	got, _, _ := create(t, "/voucher/seckill", `{}`, nil)
	want := []string{"shopId", "title", "payValue", "actualValue", "stock", "beginTime", "endTime"}
	if diff := cmp.Diff(want, fieldsOf(got)); diff != "" {
		t.Error(diff)
	}
}

func TestBodiesThatAreNoObject(t *testing.T) {
	t.Parallel()
	good := object(goodBody())
	for name, body := range map[string]string{
		"list": `[]`, "string": `"x"`, "number": `1`, "null": `null`, "true": `true`, "spaces": "  ", "cut": good[:len(good)-1], "cut in a string": good[:10],
		"trailing object": good + "{}", "trailing comma": `{"shopId":1,}`, "trailing text": good + " x", "no quotes": `{shopId:1}`, "single quotes": `{'shopId':1}`,
		"comment": `{/* */"shopId":1}`, "BOM": "\ufeff" + good, "UTF-16": "{\x00\"\x00", "not UTF-8": "{\"title\":\"\xff\xfe\"}", "NaN": `{"shopId":NaN}`,
		"plus": `{"shopId":+1}`, "leading zero": `{"shopId":01}`, "two values": `{"shopId":1 2}`, "deep": strings.Repeat("[", 20_000),
		"form": "shopId=1&title=x",
	} {
		got, status, created := create(t, "/voucher/seckill", body, nil)
		if status != http.StatusBadRequest || len(created) != 0 || !cmp.Equal(fieldsOf(got), []string{"body"}) {
			t.Errorf("%s: %d %+v", name, status, got.Errors)
		}
	}
	got, status, _ := create(t, "/voucher/seckill", "", map[string]string{"Content-Type": "application/json"})
	if status != http.StatusBadRequest || !cmp.Equal(fieldsOf(got), []string{"body"}) {
		t.Errorf("empty: %d %+v", status, got.Errors)
	}
}

func TestUnknownAndRepeatedFields(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"id":null}`:                   {"id"},
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"type":0,"status":1}`:         {"type", "status"},
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"Title":"b"}`:                 {"Title"},
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"x":{"shopId":[{"y":{}}]}}`:   {"x"},
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"payValue":1}`:                {"payValue"},
		`{"shopId":1,"title":"a","payValue":1,"actualValue":2,"p\u0061yValue":9}`:           {"payValue"},
		`{"shopId":1,"title":"a","payValue":"1","payValue":1,"payValue":2,"actualValue":2}`: {"payValue", "payValue", "payValue"},
		`{"":1,"shopId":"x"}`: {"", "shopId", "title", "payValue", "actualValue"},
	} {
		got, status, created := create(t, "/voucher", body, nil)
		if diff := cmp.Diff(want, fieldsOf(got)); diff != "" || status != http.StatusBadRequest || len(created) != 0 {
			t.Errorf("%s: %d %s", body, status, diff)
		}
	}
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `"%d%s":1,`, i, strings.Repeat("n", 5))
	}
	got, _, _ := create(t, "/voucher", "{"+many.String()+`"`+strings.Repeat("n", 9000)+`":1}`, nil)
	if len(got.Errors) != maxProblems {
		t.Errorf("%d problems told, want %d", len(got.Errors), maxProblems)
	}
	got, _, _ = create(t, "/voucher", `{"`+strings.Repeat("é", 9000)+`":1}`, nil)
	if name := got.Errors[0].Field; len(name) > maxEcho+len("…") || !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError) {
		t.Errorf("a long name is told as %q", name)
	}
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	const body = `{"shopId":1,"title":"a","payValue":1,"actualValue":2}`
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON;charset=UTF-8": true, "application/json; charset=\"utf-8\"": true,
		"": false, "text/plain": false, "application/json; charset=gbk": false, "application/x-www-form-urlencoded": false, "application/problem+json": false,
		"application/json; charset": false, "multipart/form-data; boundary=x": false, ";": false,
	} {
		got, status, created := create(t, "/voucher", body, map[string]string{"Content-Type": kind})
		if ok && status != http.StatusCreated {
			t.Errorf("%q: %d %+v", kind, status, got.Errors)
		}
		if !ok && (status != http.StatusBadRequest || !cmp.Equal(fieldsOf(got), []string{"Content-Type"}) || len(created) != 0) {
			t.Errorf("%q: %d %+v", kind, status, got.Errors)
		}
	}
	got, status, _ := create(t, "/voucher", body, map[string]string{"Content-Encoding": "gzip"})
	if status != http.StatusBadRequest || !cmp.Equal(fieldsOf(got), []string{"Content-Encoding"}) {
		t.Errorf("gzip: %d %+v", status, got.Errors)
	}
}

// Times without a zone, as the tutorial's frontend sends them, are read in the configured one.
func TestTimesWithoutAZone(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("Asia/Shanghai", 8*60*60)
	body := goodBody()
	body["beginTime"], body["endTime"] = `"2026-01-02T20:00:00"`, `"2026-01-02T23:00:00.5+08:00"`
	_, status, created := create(t, "/voucher/seckill", object(body), nil, func(cfg *Config) { cfg.Zone = shanghai })
	if status != http.StatusCreated {
		t.Fatal(status)
	}
	if got := created[0].Sale.Begin; !got.Equal(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("begin is %s", got)
	}
	if got := created[0].Sale.End; !got.Equal(time.Date(2026, 1, 2, 15, 0, 0, 500_000_000, time.UTC)) {
		t.Errorf("end is %s", got)
	}
}

// Whatever comes, decoding ends with the fields filled or with problems, and what it takes encoding/json takes too.
func FuzzDecodeObject(f *testing.F) {
	f.Add([]byte(object(goodBody())))
	for _, s := range []string{`{}`, `[]`, `{"n":1,"n":2}`, `{"n":1e3}`, `{"x":{"n":[1]}}`, `{"s":"\ud800"}`, `{"n":1}{}`, ` {"t":"2026-01-02T20:00:00"} `, `{"n":-0}`, "\xff", ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var (
			n  int64
			s  string
			at time.Time
		)
		err := decodeObject(body, []bodyField{required(integerField("n", &n)), textField("s", &s), timeField("t", &at, time.UTC)})
		if err != nil {
			if !as[*voucher.InvalidError](err) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		var std struct {
			N *int64  `json:"n"`
			S *string `json:"s"`
			T *string `json:"t"`
		}
		if err := json.Unmarshal(body, &std); err != nil || std.N == nil || *std.N != n {
			t.Errorf("%q: read as %d, by encoding/json as %+v, %v", body, n, std, err)
		}
		if std.S != nil && *std.S != s || std.S == nil && s != "" || (std.T == nil) != at.IsZero() && !strings.HasPrefix(*std.T, "0001-01-01") {
			t.Errorf("%q: read as %q and %s, by encoding/json as %+v", body, s, at, std)
		}
	})
}
